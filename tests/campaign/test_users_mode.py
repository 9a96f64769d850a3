"""What is wrong only as networks are run here, unoptimized, is nobody's defect: users never see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.stages import StepExaminer
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Mode, Procedure
from tensorparity.operators.evaluate import evaluate

TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")


class Networks:
    """JAX is wrong in the modes that are given."""

    targets = TARGETS

    def __init__(self, modes: Sequence[Mode]) -> None:
        self._modes = modes

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: Any) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        assert isinstance(case.subject, LayerGraph)
        wrong = target == "keras:jax" and case.procedure.mode in self._modes
        values = evaluate(case.subject, case.inputs, case.weights)
        nodes = {key: outputs[0].value.astype(np.float32) + wrong for key, outputs in values.items()}
        keys = {node.name: node.key for node in case.subject.nodes}
        outputs = {ref.node: nodes[keys[ref.node]] for ref in case.subject.outputs}
        return Outcome(target, Status.COMPLETED, outputs, Trace(nodes=nodes))


@pytest.mark.parametrize(("modes", "convicted"), [([Mode.EAGER], False), ([Mode.EAGER, Mode.USER], True)])
def test_the_mode_that_users_get_decides(modes: list[Mode], convicted: bool) -> None:
    build = GraphBuilder()
    graph = build.build(build.add("ELU", build.input("x", (3,)), name="e"))
    case = Case(graph, Procedure(trace=True, mode=Mode.EAGER), {"x": np.ones((2, 3), np.float32)})
    (step,) = StepExaminer(Networks(modes), TARGETS, dict.fromkeys(TARGETS, "keras")).examine([case])
    assert bool(step.convicted) is convicted
    assert bool(step.open) is not convicted, "what nobody is convicted of stays an open doubt"
