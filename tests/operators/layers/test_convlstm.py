from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

RNG = np.random.default_rng(0)


def run(op, params, x, prefix, **weights):
    named = {f"c/{prefix}/{name}": value for name, value in weights.items()}
    return [item.value for item in evaluate_node(Node("c", op, (Ref("x"),), params), [x], named)]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_on_single_pixels_it_is_an_lstm(dims):
    x, ones = RNG.normal(size=(2, 4, 3)), (1,) * dims
    weights = {
        "kernel": RNG.normal(size=(3, 8)),
        "recurrent_kernel": RNG.normal(size=(2, 8)),
        "bias": RNG.normal(size=8),
    }
    flags = {"return_sequences": True, "return_state": True, "go_backwards": True}
    plain = run("LSTM", {"units": 2, **flags}, x, "lstm_cell", **weights)
    weights = {name: w if name == "bias" else w.reshape(*ones, *w.shape) for name, w in weights.items()}
    film = x.reshape(2, 4, *ones, 3)
    found = run(f"ConvLSTM{dims}D", {"filters": 2, "kernel_size": 1, **flags}, film, "conv_lstm_cell", **weights)
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one.reshape(other.shape), other)


def test_the_state_is_convolved_at_stride_one_and_padding_same():
    """Two steps by hand; only the candidate and a state-fed input gate matter where gates are open."""
    x = np.zeros((1, 2, 3, 1))
    x[0, 0, 1, 0] = 1.0
    kernel = np.array([0.0, 0.0, 1.0, 0.0]).reshape(1, 1, 4)
    recurrent = np.zeros((1, 1, 4))
    params = {"filters": 1, "kernel_size": 1, "activation": None, "use_bias": False, "return_sequences": True}
    (found,) = run("ConvLSTM1D", params, x, "conv_lstm_cell", kernel=kernel, recurrent_kernel=recurrent)
    # gates stand at 1/2: carry = 1/2 then 1/4, hidden half of it
    assert found[0, :, :, 0].tolist() == [[0.0, 0.25, 0.0], [0.0, 0.125, 0.0]]


def test_channels_first_is_the_same_transposed():
    x = RNG.normal(size=(1, 3, 4, 5, 2))
    weights = {"kernel": RNG.normal(size=(2, 3, 2, 12)), "recurrent_kernel": RNG.normal(size=(2, 3, 3, 12))}
    params = {"filters": 3, "kernel_size": (2, 3), "use_bias": False}
    (last,) = run("ConvLSTM2D", params, x, "conv_lstm_cell", **weights)
    params["data_format"] = "channels_first"
    (first,) = run("ConvLSTM2D", params, np.moveaxis(x, -1, 2), "conv_lstm_cell", **weights)
    np.testing.assert_allclose(np.moveaxis(first, 1, -1), last)


def test_what_does_not_fit_is_refused():
    spec = layer("ConvLSTM1D")
    params = spec.complete({"filters": 1, "kernel_size": 5})
    with pytest.raises(ShapeError, match="does not fit.*Received: "):
        spec.shape(params, [(1, 2, 3, 1)])
    with pytest.raises(ShapeError, match="must be known.*Received: "):
        spec.shape(params, [(1, 2, None, 1)])
    assert spec.shape(spec.complete({"filters": 1, "kernel_size": 1}), [(None, None, 3, 1)]) == ((None, 3, 1),)
