"""States of stateful layers, from one batch to the next."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import GraphBuilder
from tensorparity.operators.layers.nested import serialized_layer
from tensorparity.operators.masks_and_states import MasksAndStates, is_stateful, keeps_states
from tensorparity.operators.reference.evaluate import declare_weights, draw_weights, evaluate, evaluate_batches
from tensorparity.operators.spec import ShapeError


def tens(stateful=True, **params):
    """H = x + 10 h, as a graph, with its weights."""
    build = GraphBuilder()
    x = build.input("x", (2, 1))
    given = {"units": 1, "activation": None, "use_bias": False, "stateful": stateful, **params}
    graph = build.build(build.add("SimpleRNN", x, name="r", **given))
    return graph, {
        "r/simple_rnn_cell/kernel": np.ones((1, 1)),
        "r/simple_rnn_cell/recurrent_kernel": np.full((1, 1), 10.0),
    }


ROWS = {"x": np.array([[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]], [[7.0], [8.0]]])}


def values(graph, weights, batch_size):
    return evaluate_batches(graph, ROWS, weights, batch_size)["r#0"][0].value[:, 0].tolist()


def test_every_row_of_a_batch_has_a_state_of_its_own():
    assert values(*tens(), 2) == [12.0, 34.0, 1256.0, 3478.0]


def test_one_row_after_another():
    assert values(*tens(), 1) == [12.0, 1234.0, 123456.0, 12345678.0]


def test_who_keeps_nothing_starts_anew():
    assert values(*tens(stateful=False), 1) == [12.0, 34.0, 56.0, 78.0]
    assert values(*tens(), None) == [12.0, 34.0, 56.0, 78.0]


def test_rounding_of_the_state_is_carried_along():
    graph, weights = tens()
    kappas = evaluate_batches(graph, ROWS, weights, 2)["r#0"][0].kappa[:, 0]
    alone = evaluate_batches(graph, ROWS, weights, None)["r#0"][0].kappa[:, 0]
    assert (kappas[2:] > 10 * alone[2:]).all()


@pytest.mark.parametrize(
    ("op", "shape", "params"),
    [
        ("LSTM", (3, 2), {"units": 2, "stateful": True}),
        ("GRU", (3, 2), {"units": 2, "stateful": True, "return_sequences": True}),
        ("ConvLSTM1D", (3, 4, 1), {"filters": 2, "kernel_size": 2, "stateful": True}),
        ("Bidirectional", (3, 2), {"layer": serialized_layer("LSTM", "lstm", units=2, stateful=True)}),
    ],
)
def test_two_halves_forward_are_one_whole(op, shape, params):
    """Forward in time, a sequence in two calls ends where it ends in one."""
    build = GraphBuilder()
    whole = build.build(build.add(op, build.input("x", (6, *shape[1:])), name="r", **params))
    build = GraphBuilder()
    half = build.build(build.add(op, build.input("x", shape), name="r", **params))
    assert is_stateful(half)
    assert keeps_states(half.nodes[0])
    rng = np.random.default_rng(3)
    weights, x = draw_weights(whole, rng), rng.normal(size=(1, 6, *shape[1:]))
    assert set(declare_weights(half)) == set(weights)
    wanted = evaluate(whole, {"x": x}, weights)["r#0"][0].value
    found = evaluate_batches(half, {"x": np.concatenate([x[:, :3], x[:, 3:]])}, weights, 1)["r#0"][0].value[1:]
    if op == "Bidirectional":  # of the way back, the second call saw later steps
        wanted, found = wanted[:, :2], found[:, :2]
    np.testing.assert_allclose(found, wanted[:, 3:] if params.get("return_sequences") else wanted, rtol=1e-12)


def test_two_calls_in_one_pass_have_no_order():
    build = GraphBuilder()
    x = build.input("x", (2, 1))
    first = build.add("SimpleRNN", x, name="r", units=1, stateful=True)
    graph = build.build(first, build.add("SimpleRNN", x, again="r", units=1, stateful=True))
    with pytest.raises(ShapeError, match="order"):
        evaluate(graph, ROWS, draw_weights(graph, np.random.default_rng(0)))


def test_a_masked_first_step_of_a_later_call_is_nowhere_said():
    build = GraphBuilder()
    hidden = build.add("Masking", build.input("x", (2, 1)))
    graph = build.build(build.add("SimpleRNN", hidden, name="r", units=1, stateful=True))
    weights, beside = draw_weights(graph, np.random.default_rng(0)), MasksAndStates()
    x = np.array([[[0.0], [1.0]]])
    evaluate(graph, {"x": x}, weights, beside=beside)
    with pytest.raises(ShapeError, match="nowhere said"):
        evaluate(graph, {"x": x}, weights, beside=beside.next_batch())
