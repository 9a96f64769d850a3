from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference import carried
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import Evaluation, ShapeError


def run(op, params, x, **weights):
    cell = {"SimpleRNN": "simple_rnn_cell", "LSTM": "lstm_cell", "GRU": "gru_cell"}[op]
    named = {f"r/{cell}/{name}": np.asarray(value, dtype=float) for name, value in weights.items()}
    return evaluate_node(Node("r", op, (Ref("x"),), params), [np.asarray(x, dtype=float)], named)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


X = [[[1.0], [2.0], [4.0]]]


def test_simple_rnn_by_hand():
    weights = {"kernel": [[1.0]], "recurrent_kernel": [[10.0]], "bias": [0.5]}
    params = {"units": 1, "activation": None}
    (last,) = run("SimpleRNN", params, X, **weights)
    assert last.value.tolist() == [[179.5]]  # 1.5, then 2.5 + 15, then 4.5 + 175
    all_steps, state = run("SimpleRNN", {**params, "return_sequences": True, "return_state": True}, X, **weights)
    assert all_steps.value.ravel().tolist() == [1.5, 17.5, 179.5]
    assert state.value.tolist() == [[179.5]]


def test_backwards_takes_the_steps_in_reverse_and_leaves_them_so():
    weights = {"kernel": [[1.0]], "recurrent_kernel": [[10.0]]}
    params = {"units": 1, "activation": None, "use_bias": False, "go_backwards": True, "return_sequences": True}
    (found,) = run("SimpleRNN", params, X, **weights)
    assert found.value.ravel().tolist() == [4.0, 42.0, 421.0]


def test_lstm_by_hand():
    kernel, recurrent, bias = (
        np.array([[1.0, -1.0, 0.5, 2.0]]),
        np.array([[0.5, 1.0, -1.0, 0.25]]),
        [0.1, 0.2, 0.3, 0.4],
    )
    hidden = carry = 0.0
    for (x,) in X[0]:
        i, f, g, o = (x * k + hidden * r + b for k, r, b in zip(kernel[0], recurrent[0], bias, strict=True))
        carry = sigmoid(f) * carry + sigmoid(i) * math.tanh(g)
        hidden = sigmoid(o) * math.tanh(carry)
    found = run("LSTM", {"units": 1, "return_state": True}, X, kernel=kernel, recurrent_kernel=recurrent, bias=bias)
    assert [item.value.item() for item in found] == pytest.approx([hidden, hidden, carry])


@pytest.mark.parametrize("reset_after", [True, False])
def test_gru_by_hand(reset_after):
    kernel, recurrent = np.array([[1.0, -1.0, 0.5]]), np.array([[0.5, 1.0, -1.0]])
    bias = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]) if reset_after else np.array([0.1, 0.2, 0.3])
    fed, own = (bias[0], bias[1]) if reset_after else (bias, np.zeros(3))
    hidden = 0.0
    for (x,) in X[0]:
        update = sigmoid(x * kernel[0, 0] + fed[0] + hidden * recurrent[0, 0] + own[0])
        reset = sigmoid(x * kernel[0, 1] + fed[1] + hidden * recurrent[0, 1] + own[1])
        recalled = reset * (hidden * recurrent[0, 2] + own[2])
        candidate = math.tanh(x * kernel[0, 2] + fed[2] + recalled)
        hidden = update * hidden + (1 - update) * candidate
    params = {"units": 1, "reset_after": reset_after}
    (found,) = run("GRU", params, X, kernel=kernel, recurrent_kernel=recurrent, bias=bias)
    assert found.value.item() == pytest.approx(hidden)


def test_a_reset_gate_before_the_product_is_another_thing():
    rng = np.random.default_rng(0)
    weights = {"kernel": rng.normal(size=(2, 9)), "recurrent_kernel": rng.normal(size=(3, 9))}
    x = rng.normal(size=(1, 4, 2))
    after, before = (
        run("GRU", {"units": 3, "use_bias": False, "reset_after": which}, x, **weights)[0] for which in (True, False)
    )
    assert error_units(before.value.astype(np.float32), after, "float32").max() > 100 * K


@pytest.mark.parametrize(
    ("op", "columns", "label"),
    [("SimpleRNN", 4, "simple_rnn_cell"), ("LSTM", 16, "lstm_cell"), ("GRU", 12, "gru_cell")],
)
def test_weights_stand_below_the_cell(op, columns, label):
    spec = layer(op)
    weights = spec.weights(spec.complete({"units": 4}), [(None, None, 3)])
    assert list(weights) == [f"{label}/kernel", f"{label}/recurrent_kernel", f"{label}/bias"]
    assert [weight.shape[-1] for weight in weights.values()] == [columns] * 3
    assert list(spec.weights(spec.complete({"units": 4, "use_bias": False}), [(None, None, 3)]))[-1] != f"{label}/bias"


def test_shapes_with_unknown_time():
    spec = layer("LSTM")
    params = spec.complete({"units": 4, "return_sequences": True, "return_state": True})
    assert spec.shape(params, [(None, None, 3)]) == ((None, None, 4), (None, 4), (None, 4))


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"units": 0}, "units"),
        ({"units": 1, "activation": "x"}, "activation"),
        ({"units": 1, "recurrent_activation": 3}, "recurrent_activation"),
        ({"units": 1, "return_state": 1}, "return_state"),
        ({"units": 1, "dropout": "much"}, "dropout"),
    ],
)
def test_bad_parameters_are_refused(params, name):
    spec = layer("GRU")
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete(params), [(2, 3, 4)])


def test_a_layer_with_dropout_draws_when_training():
    spec = layer("LSTM")
    assert not spec.draws({"units": 1})
    assert spec.draws({"units": 1, "recurrent_dropout": 0.5})


def test_one_minus_a_gate_near_one_carries_the_gates_rounding():
    """float32 has 0.9983 to 3e-8 at best, which is far more than its share of 1 - 0.9983."""
    gate = Evaluation(np.array(0.9983), np.zeros(()))
    rest = carried.complement(gate)
    assert error_units(1 - np.float32(0.9983), rest, "float32") < 1
    assert error_units(np.float32(1 - 0.9983 + 6e-8), rest, "float32") < 2
    assert error_units(np.float32(1 - 0.9983 + 6e-6), rest, "float32") > 16
