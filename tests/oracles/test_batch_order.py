"""Batches in reverse: an honest target cannot tell, one that depends on the order is caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Procedure
from tensorparity.operators.reference.evaluate import draw_weights, evaluate
from tensorparity.testing.batch_order import ReversedBatch, reversed_name

from ..stepping import ExaminedSteps

OWN = "keras:one"


class OneTarget:
    """Computes by the references; ``bias`` is added to the first row, whichever that is."""

    targets = (OWN,)

    def __init__(self, bias: float = 0.0) -> None:
        self._bias = bias
        self.seen: list[np.ndarray] = []

    def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None):
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        assert target == OWN
        (x,) = case.inputs.values()
        self.seen.append(x)
        values = evaluate(case.subject, case.inputs, case.weights)
        nodes = {key: outputs[0].value.astype(np.float32) for key, outputs in values.items()}
        (key,) = nodes
        nodes[key][0] += np.float32(self._bias)
        gradients = {"weight:y/kernel": np.arange(6.0), "input:x": x}
        return Outcome(target, Status.COMPLETED, {"y": nodes[key]}, Trace(nodes, gradients=gradients))


def dense() -> Case:
    builder = GraphBuilder("rows")
    graph = builder.build(builder.add("Dense", builder.input("x", (3,)), name="y", units=2))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return Case(graph, Procedure(trace=True), {"x": x}, weights=draw_weights(graph, np.random.default_rng(0)))


def test_rows_go_in_reversed_and_come_back_in_order():
    inner = OneTarget()
    plain, turned = ReversedBatch(inner, [OWN]).run_pairs([(dense(), OWN), (dense(), reversed_name(OWN))])
    assert np.array_equal(inner.seen[1], inner.seen[0][::-1])
    assert turned.target == reversed_name(OWN)
    assert np.array_equal(turned.outputs["y"], plain.outputs["y"])
    assert np.array_equal(turned.trace.nodes["y#0"], plain.trace.nodes["y#0"])
    assert np.array_equal(turned.trace.gradients["input:x"], plain.trace.gradients["input:x"])
    assert np.array_equal(turned.trace.gradients["weight:y/kernel"], plain.trace.gradients["weight:y/kernel"])


def test_batches_stay_in_their_order_because_states_go_from_one_to_the_next():
    inner = OneTarget()
    case = replace(dense(), inputs={"x": np.arange(12, dtype=np.float32).reshape(4, 3)})
    case = replace(case, procedure=replace(case.procedure, batch_size=2))
    plain, turned = ReversedBatch(inner, [OWN]).run_pairs([(case, OWN), (case, reversed_name(OWN))])
    assert np.array_equal(inner.seen[1], inner.seen[0][[1, 0, 3, 2]])
    assert np.array_equal(turned.outputs["y"], plain.outputs["y"])


def test_a_target_that_knows_the_order_is_caught_and_an_honest_one_is_not():
    targets = (OWN, reversed_name(OWN))
    for bias, found in ((0.0, False), (1.0, True)):
        examiner = ExaminedSteps(ReversedBatch(OneTarget(bias), [OWN]), targets, dict.fromkeys(targets, "keras"))
        examiner.examine([dense()])
        assert bool(examiner.confirm()) is found
