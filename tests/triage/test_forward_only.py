"""A target that was run forward only has no gradients to be absent."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.losses.catalogue import evaluate_loss
from tensorparity.operators.reference.evaluate import draw_weights, evaluate_node
from tensorparity.oracles.muffin import inconsistencies
from tensorparity.oracles.screening import Screening
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)

LOSS = Recipe("MeanSquaredError")


def _graph() -> LayerGraph:
    build = GraphBuilder("small")
    return build.build(build.add("Dense", build.input("x", (3,)), name="dense", units=2))


@pytest.fixture
def case() -> Case:
    graph, rng = _graph(), np.random.default_rng(0)
    inputs = {"x": rng.normal(0, 1, (2, 3)).astype(np.float32)}
    labels = {"dense": np.zeros((2, 2), np.float32)}
    return Case(graph, Procedure(goal=Goal.GRADIENTS, loss=LOSS), inputs, labels, draw_weights(graph, rng))


def _outcome(case: Case, target: str, *, forward_only: bool, gradient: float = 1.0) -> Outcome:
    (node,) = _graph().nodes
    value = evaluate_node(node, [case.inputs["x"]], case.weights)[0].value.astype(np.float32)
    trace = Trace(nodes={"dense#0": value})
    if not forward_only:
        loss = float(evaluate_loss(LOSS, case.labels["dense"], value).value)
        trace = Trace(trace.nodes, loss, {"input:x": np.full((2, 3), gradient)})
    return Outcome(target, Status.COMPLETED, {"dense": value}, trace)


def test_its_gradients_are_not_missed(case: Case) -> None:
    outcomes = {
        "a": _outcome(case, "a", forward_only=False),
        "b": _outcome(case, "b", forward_only=False),
        "c": _outcome(case, "c", forward_only=True),
    }
    assert not list(Screening(case, outcomes, traits=TRAITS).checks())
    assert not inconsistencies(_graph(), LOSS.name, outcomes["a"], outcomes["c"])


def test_those_of_the_others_are_still_compared(case: Case) -> None:
    outcomes = {
        "a": _outcome(case, "a", forward_only=False),
        "b": _outcome(case, "b", forward_only=False, gradient=5.0),
        "c": _outcome(case, "c", forward_only=True),
    }
    (trial,) = Screening(case, outcomes, traits=TRAITS).checks()
    assert trial.node.op == "Dense"
    assert inconsistencies(_graph(), LOSS.name, outcomes["a"], outcomes["b"])
