from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.layers.nested import serialized_layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 4, 3))
LSTM = {"kernel": RNG.normal(size=(3, 8)), "recurrent_kernel": RNG.normal(size=(2, 8)), "bias": RNG.normal(size=8)}
GRU = {"kernel": RNG.normal(size=(2, 9)), "recurrent_kernel": RNG.normal(size=(3, 9)), "bias": RNG.normal(size=(2, 9))}


def run(op, params, x, **weights):
    named = {f"r/{name.replace('__', '/')}": value for name, value in weights.items()}
    return [item.value for item in evaluate_node(Node("r", op, (Ref("x"),), params), [x], named)]


def below(prefix, weights):
    return {f"{prefix}__{name}": weight for name, weight in weights.items()}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_cell_in_a_loop_is_its_layer(backwards):
    flags = {"return_sequences": True, "return_state": True, "go_backwards": backwards}
    cell = serialized_layer("LSTMCell", "mine", units=2)
    found = run("RNN", {"cell": cell, **flags}, X, **below("mine", LSTM))
    for one, other in zip(found, run("LSTM", {"units": 2, **flags}, X, **below("lstm_cell", LSTM)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_stack_is_one_layer_after_the_other():
    cells = [serialized_layer("LSTMCell", "a", units=2), serialized_layer("GRUCell", "b", units=3)]
    stack = serialized_layer("StackedRNNCells", "s", cells=cells)
    weights = {**below("s__a", LSTM), **below("s__b", GRU)}
    last, *states = run("RNN", {"cell": stack, "return_state": True}, X, **weights)
    flags = {"return_sequences": True, "return_state": True}
    middle, *first = run("LSTM", {"units": 2, **flags}, X, **below("lstm_cell", LSTM))
    (end,) = run("GRU", {"units": 3}, middle, **below("gru_cell", GRU))
    np.testing.assert_allclose(last, end)
    for one, other in zip(states, [*first, end], strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    "cell",
    [
        None,
        serialized_layer("Dense", "d", units=1),
        {"class_name": "LSTMCell", "config": {"units": 1}},
        serialized_layer("StackedRNNCells", "s", cells=[]),
        serialized_layer("StackedRNNCells", "s", cells=[serialized_layer("GRUCell", "g", units=1)] * 2),
    ],
)
def test_what_is_no_cell_is_refused(cell):
    spec = layer("RNN")
    with pytest.raises(ShapeError, match="`cell`.*Received: cell="):
        spec.shape(spec.complete({"cell": cell}), [(1, 2, 3)])
