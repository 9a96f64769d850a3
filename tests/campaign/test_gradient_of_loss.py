"""To the paper, the gradient of a loss is a part of the loss' stage: asked for that alone, it is judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Judgement, Stage

from ..stepping import ExaminedSteps

TARGETS = ["one", "two", "bad"]


class HandMade:
    """Squared errors of what is passed on; one target doubles their gradient."""

    def run_pairs(self, pairs: Any, **_: Any) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        (given, x), (name, labels) = next(iter(case.inputs.items())), next(iter(case.labels.items()))
        gradient = (2.0 * (x - labels) / x.size).astype(np.float32) * (2.0 if target == "bad" else 1.0)
        gradients = {f"input:{given}": gradient, f"node:{name}#0": gradient}
        trace = Trace(nodes={f"{name}#0": x}, loss=float(np.square(x - labels).mean()), gradients=gradients)
        return Outcome(target, Status.COMPLETED, {name: x}, trace)


@pytest.mark.parametrize(
    ("stages", "judgement"),
    [
        ((Stage.LOSS,), Judgement.FAIL),
        ((Stage.BACKWARD,), Judgement.FAIL),
        ((Stage.FORWARD, Stage.UPDATE), Judgement.PASS),
    ],
)
def test_the_gradient_of_a_loss_is_judged_in_its_stage(stages: tuple[Stage, ...], judgement: Judgement) -> None:
    build = GraphBuilder()
    y = build.add("Activation", build.input("x", (3,)), name="y", activation="linear")
    rng = np.random.default_rng(0)
    x, labels = (rng.standard_normal((4, 3)).astype(np.float32) for _ in range(2))
    procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))
    case = Case(build.build(y), procedure, {"x": x}, {"y": labels})
    examiner = ExaminedSteps(HandMade(), TARGETS, {}, stages=stages)  # type: ignore[arg-type]
    (step,) = examiner.examine([case])
    assert {verdict.targets: verdict.judgement for verdict in step.verdicts}["one", "bad"] is judgement
    if judgement is Judgement.FAIL:
        (suspicion,) = step.convicted
        assert suspicion.diagnosis.suspects == ("bad",)
        assert suspicion.diagnosis.api == "keras.losses.MeanSquaredError"
