"""What is wrong only as JAX compiles networks here, unoptimized, is nobody's defect: users never see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Mode, Procedure
from tensorparity.operators.reference.evaluate import evaluate

from ..stepping import ExaminedSteps

TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")


class Networks:
    """One target is wrong in the modes that are given."""

    targets = TARGETS

    def __init__(self, guilty: str, modes: Sequence[Mode]) -> None:
        self._guilty, self._modes = guilty, modes

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: Any) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        assert isinstance(case.subject, LayerGraph)
        wrong = target == self._guilty and case.procedure.mode in self._modes
        values = evaluate(case.subject, case.inputs, case.weights)
        nodes = {key: outputs[0].value.astype(np.float32) + wrong for key, outputs in values.items()}
        keys = {node.name: node.key for node in case.subject.nodes}
        outputs = {ref.node: nodes[keys[ref.node]] for ref in case.subject.outputs}
        return Outcome(target, Status.COMPLETED, outputs, Trace(nodes=nodes))


@pytest.mark.parametrize(
    ("guilty", "modes", "convicted"),
    [
        ("keras:jax", [Mode.EAGER], False),
        ("keras:jax", [Mode.EAGER, Mode.USER], True),
        ("keras:tensorflow", [Mode.EAGER], True),  # which is how many users call a model
    ],
)
def test_the_mode_that_users_get_decides(guilty: str, modes: list[Mode], convicted: bool) -> None:
    build = GraphBuilder()
    graph = build.build(build.add("ELU", build.input("x", (3,)), name="e"))
    case = Case(graph, Procedure(trace=True, mode=Mode.EAGER), {"x": np.ones((2, 3), np.float32)})
    (step,) = ExaminedSteps(Networks(guilty, modes), TARGETS, dict.fromkeys(TARGETS, "keras")).examine([case])
    assert bool(step.convicted) is convicted
    assert bool(step.open) is not convicted, "what nobody is convicted of stays an open doubt"
