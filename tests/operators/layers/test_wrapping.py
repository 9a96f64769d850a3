from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.layers.nested import serialized_layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

ADDING = serialized_layer("SimpleRNN", "rnn", units=1, activation=None, use_bias=False, return_sequences=True)
X = np.array([[[1.0], [2.0], [4.0]]])


def run(op, params, x=X, **weights):
    named = {f"w/{name.replace('__', '/')}": np.asarray(value, dtype=float) for name, value in weights.items()}
    return [item.value for item in evaluate_node(Node("w", op, (Ref("x"),), params), [x], named)]


def both_ways(**params):
    weights = {}
    for way in ("forward", "backward"):
        weights[f"{way}_rnn__simple_rnn_cell__kernel"] = [[1.0]]
        weights[f"{way}_rnn__simple_rnn_cell__recurrent_kernel"] = [[1.0]]
    return run("Bidirectional", {"layer": ADDING, **params}, **weights)


def test_bidirectional_sums_from_both_ends():
    (found,) = both_ways()
    assert found.tolist() == [[[1.0, 7.0], [3.0, 6.0], [7.0, 4.0]]]


@pytest.mark.parametrize(
    ("mode", "expected"), [("sum", [8.0, 9.0, 11.0]), ("ave", [4.0, 4.5, 5.5]), ("mul", [7.0, 18.0, 28.0])]
)
def test_merge_modes(mode, expected):
    (found,) = both_ways(merge_mode=mode)
    assert found.ravel().tolist() == expected


def test_without_merging_there_are_two_outputs():
    ahead, back = both_ways(merge_mode=None)
    assert ahead.ravel().tolist() == [1.0, 3.0, 7.0]
    assert back.ravel().tolist() == [7.0, 6.0, 4.0]


def test_names_and_order_of_weights_and_outputs():
    spec = layer("Bidirectional")
    inner = serialized_layer("LSTM", "mine", units=2, return_state=True)
    params = spec.complete({"layer": inner})
    names = list(spec.weights(params, [(None, 5, 3)]))
    assert names[:3] == [f"forward_mine/lstm_cell/{name}" for name in ("kernel", "recurrent_kernel", "bias")]
    assert names[3:] == [name.replace("forward", "backward") for name in names[:3]]
    assert spec.shape(params, [(None, 5, 3)]) == ((None, 4), *((None, 2),) * 4)


def test_a_backward_layer_of_its_own_keeps_its_name():
    spec = layer("Bidirectional")
    params = {
        "layer": serialized_layer("GRU", "forward_a", units=2),
        "backward_layer": serialized_layer("LSTM", "other", units=3, go_backwards=True),
    }
    params = spec.complete(params)
    assert {name.partition("/")[0] for name in spec.weights(params, [(None, 5, 3)])} == {"forward_a", "other"}
    assert spec.shape(params, [(None, 5, 3)]) == ((None, 5),)
    with pytest.raises(ShapeError, match="`merge_mode`.*Received: merge_mode='sum'"):
        spec.shape({**params, "merge_mode": "sum"}, [(None, 5, 3)])


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"layer": serialized_layer("Dense", "d", units=1)}, "layer"),
        ({"layer": {"class_name": "GRU", "config": {"units": 1}}}, "layer"),
        ({"layer": serialized_layer("GRU", "g", units=1, go_backwards=True)}, "layer"),
        ({"layer": serialized_layer("GRU", "g", units=0)}, "units"),
        ({"layer": ADDING, "merge_mode": "max"}, "merge_mode"),
        (
            {"layer": ADDING, "backward_layer": serialized_layer("GRU", "g", units=1, go_backwards=True)},
            "backward_layer",
        ),
    ],
)
def test_what_does_not_fit_is_refused(params, name):
    spec = layer("Bidirectional")
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: "):
        spec.shape(spec.complete(params), [(1, 3, 2)])


def test_time_distributed_dense_by_hand():
    dense = serialized_layer("Dense", "d", units=2, use_bias=False)
    (found,) = run("TimeDistributed", {"layer": dense}, d__kernel=[[1.0, -1.0]])
    assert found.tolist() == [[[1.0, -1.0], [2.0, -2.0], [4.0, -4.0]]]


def test_time_distributed_treats_each_step_alone():
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 4))
    (found,) = run(
        "TimeDistributed",
        {"layer": serialized_layer("MaxPooling1D", "p")},
        x,
    )
    np.testing.assert_array_equal(found, np.maximum(x[:, :, 0:4:2], x[:, :, 1:4:2]))
    spec = layer("TimeDistributed")
    with pytest.raises(ShapeError, match="`layer`.*Received: layer="):
        spec.shape({"layer": serialized_layer("Conv2D", "c", filters=1, kernel_size=1)}, [(2, 3, 4)])


def test_spectral_normalization_is_its_layer_in_inference():
    inner = serialized_layer("Dense", "d", units=1)
    (found,) = run("SpectralNormalization", {"layer": inner}, d__kernel=[[3.0]], vector_u=[[9.0]], d__bias=[1.0])
    assert found.ravel().tolist() == [4.0, 7.0, 13.0]
    spec = layer("SpectralNormalization")
    weights = spec.weights(spec.complete({"layer": inner}), [(None, 2)])
    assert list(weights) == ["d/kernel", "vector_u", "d/bias"]
    assert not weights["vector_u"].trainable
    with pytest.raises(ShapeError, match="`power_iterations`.*Received: power_iterations=0"):
        spec.shape({"layer": inner, "power_iterations": 0}, [(1, 2)])
