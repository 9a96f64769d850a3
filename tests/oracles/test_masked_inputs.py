"""A layer behind a mask, alone."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Procedure
from tensorparity.operators.masks_and_states import MasksAndStates, layer_of
from tensorparity.operators.reference.evaluate import draw_weights, evaluate, evaluate_batches
from tensorparity.oracles.isolated_checks import judge_layer
from tensorparity.oracles.masked_inputs import alone, mask_input
from tensorparity.oracles.screening import Screening
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.lowering import lower

TRAITS = traits_of(TARGETS)

MASK = np.array([[True, False, True]])


@pytest.mark.parametrize("shape", [(1, 3, 2), (1, 3, 2, 2)])
def test_a_veil_makes_the_mask_and_keeps_what_counts(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    made = mask_input("x", x, MASK)
    build = GraphBuilder()
    build.input("x", made.fed.shape[1:])
    build._nodes.extend(made.nodes)
    beside = MasksAndStates()
    found = evaluate(build.build(made.ref), {"x": made.fed}, {}, beside=beside)[made.nodes[-1].key][0].value
    assert beside.mask_of(made.ref).tolist() == MASK.tolist()
    np.testing.assert_array_equal(found[MASK], x[MASK])


def test_a_step_that_counts_is_not_taken_for_a_hidden_one():
    made = mask_input("x", np.zeros((1, 3, 2), np.float32), MASK)
    assert made.nodes[0].params == {"mask_value": -1.0}
    with pytest.raises(ValueError, match="no mask of shape"):
        mask_input("x", np.zeros((1, 3, 2), np.float32), np.ones((1,), bool))


def test_a_layer_alone_has_the_mask_it_had():
    x = np.ones((1, 3, 1), np.float32)
    case = alone(Node("m", "GlobalAveragePooling1D", (Ref("y"),)), [x * [[[1], [9], [3]]]], {}, 0, [MASK])
    assert layer_of(case.subject).op == "GlobalAveragePooling1D"
    assert evaluate(case.subject, case.inputs, {})["m#0"][0].value.tolist() == [[2.0]]


def network(**params):
    build = GraphBuilder()
    hidden = build.add("Masking", build.input("x", (3, 1)))
    graph = build.build(build.add("SimpleRNN", hidden, name="r", units=1, **params))
    inputs = {"x": np.array([[[1.0], [0.0], [2.0]], [[3.0], [1.0], [0.0]]], np.float32)}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, np.random.default_rng(1)))


def outcome(case, wrong=0.0):
    values = evaluate(case.subject, case.inputs, case.weights)
    nodes = {key: found[0].value.astype(np.float32) for key, found in values.items()}
    nodes["r#0"] = nodes["r#0"] + np.float32(wrong)
    return Outcome("t", Status.COMPLETED, {}, Trace(nodes=nodes))


def test_what_is_right_behind_a_mask_is_not_doubted():
    case = network()
    assert not list(Screening(case, {"t": outcome(case)}, traits=TRAITS).forward())
    (trial,) = Screening(case, {"t": outcome(case, wrong=0.5)}, traits=TRAITS).forward()
    assert [node.op for node in trial.case.subject.nodes] == ["Masking", "SimpleRNN"]


def test_what_a_layer_keeps_is_tried_on_its_next_call():
    case = network(stateful=True)
    (trial,) = Screening(case, {"t": outcome(case)}, traits=TRAITS).forward()
    assert trial.case.procedure == Procedure(batch_size=1)
    graph, rows = trial.case.subject, trial.case.inputs
    carried = evaluate_batches(graph, rows, trial.case.weights, 1)["r#0"][0].value
    anew = evaluate_batches(graph, rows, trial.case.weights, None)["r#0"][0].value
    for observed, guilty in ((carried, False), (anew, True)):
        answer = Outcome("t", Status.COMPLETED, {"r": observed.astype(np.float32)})
        found = judge_layer(trial.case, {"t": answer}, TRAITS)
        assert (found.errors["t"] > found.limit) is guilty


@pytest.mark.parametrize("form", ["torch", "onnx"])
def test_targets_without_layers_refuse_masks_and_carried_states(form):
    assert "Masking" in str(lower(form, network())) or "mask" in str(lower(form, network()))
    case = network(stateful=True)
    (trial,) = Screening(case, {"t": outcome(case)}, traits=TRAITS).forward()
    refused = lower(form, trial.case)
    assert isinstance(refused, str)
    assert "state" in refused or "slices" in refused
