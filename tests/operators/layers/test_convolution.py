from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.layers import convolution
from tensorparity.operators.layers.spatial import Window
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import growth
from tensorparity.operators.spec import ShapeError

CONV = layer("Conv2D")


def run(op, params, x, **weights):
    node = Node("c", op, (Ref("x"),), params)
    return evaluate_node(node, [x], {f"c/{name}": value for name, value in weights.items()})[0]


def slow_conv(x, kernel, window):
    """The definition, one output at a time."""
    padded = window.padded(x)
    rows, columns = window.positions(0, x.shape[1]), window.positions(1, x.shape[2])
    out = np.zeros((x.shape[0], rows, columns, kernel.shape[3]))
    for r in range(rows):
        for c in range(columns):
            for i in range(window.size[0]):
                for j in range(window.size[1]):
                    seen = padded[
                        :,
                        r * window.strides[0] + i * window.dilation[0],
                        c * window.strides[1] + j * window.dilation[1],
                    ]
                    out[:, r, c] += seen @ kernel[i, j]
    return out


def test_value_by_hand():
    x = np.arange(9.0).reshape(1, 3, 3, 1)
    kernel = np.array([[1.0, 0.0], [0.0, -1.0]]).reshape(2, 2, 1, 1)
    found = run("Conv2D", {"filters": 1, "kernel_size": 2}, x, kernel=kernel, bias=np.array([10.0]))
    np.testing.assert_array_equal(found.value[0, :, :, 0], [[6.0, 6.0], [6.0, 6.0]])


def test_same_padding_puts_the_odd_zero_at_the_end():
    x = np.ones((1, 2, 2, 1))
    found = run(
        "Conv2D",
        {"filters": 1, "kernel_size": 2, "padding": "same", "use_bias": False},
        x,
        kernel=np.ones((2, 2, 1, 1)),
    )
    np.testing.assert_array_equal(found.value[0, :, :, 0], [[4.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("strides", "dilation"), [((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 1))])
def test_contract_is_the_definition(padding, strides, dilation):
    rng = np.random.default_rng(1)
    x, kernel = rng.normal(size=(2, 7, 6, 3)), rng.normal(size=(3, 2, 3, 4))
    window = Window((3, 2), strides, padding, dilation)
    found = convolution.contract(x, kernel, window)
    np.testing.assert_allclose(found.value, slow_conv(x, kernel, window), atol=1e-12)
    np.testing.assert_allclose(found.kappa, slow_conv(np.abs(x), np.abs(kernel), window) * growth(18), atol=1e-12)


@pytest.mark.parametrize("size", [1, 2000, 10**5])
def test_chunks_change_nothing(monkeypatch, size):
    rng = np.random.default_rng(2)
    x, kernel = rng.normal(size=(3, 8, 8, 2)), rng.normal(size=(3, 3, 2, 4))
    window = Window((3, 3), (1, 1), "same")
    whole = convolution.contract(x, kernel, window)
    monkeypatch.setattr(convolution, "CHUNK_BYTES", size)
    np.testing.assert_allclose(convolution.contract(x, kernel, window).value, whole.value, atol=1e-12)


def test_groups_see_only_their_channels():
    x = np.zeros((1, 1, 1, 4))
    x[..., :2] = 1.0
    found = run(
        "Conv2D", {"filters": 2, "kernel_size": 1, "groups": 2, "use_bias": False}, x, kernel=np.ones((1, 1, 2, 2))
    )
    np.testing.assert_array_equal(found.value.ravel(), [2.0, 0.0])


def test_channels_first_is_the_same_transposed():
    rng = np.random.default_rng(3)
    x, kernel, bias = rng.normal(size=(2, 5, 4, 3)), rng.normal(size=(3, 3, 3, 2)), rng.normal(size=2)
    last = run("Conv2D", {"filters": 2, "kernel_size": 3}, x, kernel=kernel, bias=bias)
    first = run(
        "Conv2D",
        {"filters": 2, "kernel_size": 3, "data_format": "channels_first"},
        x.transpose(0, 3, 1, 2),
        kernel=kernel,
        bias=bias,
    )
    np.testing.assert_allclose(first.value, last.value.transpose(0, 3, 1, 2))


def test_depthwise_keeps_a_channels_filters_together():
    x = np.array([1.0, 10.0]).reshape(1, 1, 1, 2)
    kernel = np.array([[1.0, 2.0], [3.0, 4.0]]).reshape(1, 1, 2, 2)
    params = {"kernel_size": 1, "depth_multiplier": 2, "use_bias": False}
    np.testing.assert_array_equal(
        run("DepthwiseConv2D", params, x, kernel=kernel).value.ravel(), [1.0, 2.0, 30.0, 40.0]
    )


def test_separable_is_depthwise_then_pointwise():
    rng = np.random.default_rng(4)
    x, deep, mix = rng.normal(size=(1, 5, 5, 3)), rng.normal(size=(3, 3, 3, 2)), rng.normal(size=(1, 1, 6, 4))
    found = run(
        "SeparableConv2D",
        {"filters": 4, "kernel_size": 3, "depth_multiplier": 2, "use_bias": False},
        x,
        depthwise_kernel=deep,
        pointwise_kernel=mix,
    )
    inner = run("DepthwiseConv2D", {"kernel_size": 3, "depth_multiplier": 2, "use_bias": False}, x, kernel=deep)
    np.testing.assert_allclose(found.value, inner.value @ mix[0, 0])


def test_weights_and_fan_in():
    params = CONV.complete({"filters": 4, "kernel_size": (3, 2), "groups": 2})
    weights = CONV.weights(params, [(None, 8, 8, 6)])
    assert weights["kernel"].shape == (3, 2, 3, 4)
    assert weights["kernel"].fan_in == 18
    assert weights["bias"].shape == (4,)


@pytest.mark.parametrize(
    ("params", "shape", "words"),
    [
        ({"filters": 0, "kernel_size": 1}, (1, 4, 4, 1), "`filters`"),
        ({"filters": 1, "kernel_size": 0}, (1, 4, 4, 1), "`kernel_size`"),
        ({"filters": 1, "kernel_size": 5}, (1, 4, 4, 1), "does not fit"),
        ({"filters": 1, "kernel_size": 1, "strides": 0}, (1, 4, 4, 1), "`strides`"),
        ({"filters": 1, "kernel_size": 1, "strides": 2, "dilation_rate": 2}, (1, 4, 4, 1), "`dilation_rate`"),
        ({"filters": 1, "kernel_size": 1, "padding": "causal"}, (1, 4, 4, 1), "`padding`"),
        ({"filters": 1, "kernel_size": 1, "data_format": "x"}, (1, 4, 4, 1), "`data_format`"),
        ({"filters": 2, "kernel_size": 1, "groups": 2}, (1, 4, 4, 3), "`groups`"),
        ({"filters": 1, "kernel_size": 1, "activation": "x"}, (1, 4, 4, 1), "`activation`"),
        ({"filters": 1, "kernel_size": 1}, (1, 4, 1), "rank 4"),
        ({"filters": 1, "kernel_size": 1}, (1, 4, 4, None), "must be known"),
    ],
)
def test_what_does_not_fit_is_refused(params, shape, words):
    with pytest.raises(ShapeError, match=f"{words}.*Received: "):
        CONV.shape(CONV.complete(params), [shape])


def test_unknown_sizes_stay_unknown():
    params = CONV.complete({"filters": 4, "kernel_size": 3, "strides": 2, "padding": "same"})
    assert CONV.shape(params, [(None, None, 7, 3)]) == ((None, None, 4, 4),)


def test_causal_padding_never_looks_ahead():
    x = np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    params = {"filters": 1, "kernel_size": 2, "padding": "causal", "use_bias": False}
    kernel = np.array([10.0, 1.0]).reshape(2, 1, 1)
    assert run("Conv1D", params, x, kernel=kernel).value.ravel().tolist() == [1.0, 12.0, 23.0]
    found = run("Conv1D", {**params, "dilation_rate": 2}, x, kernel=kernel)
    assert found.value.ravel().tolist() == [1.0, 2.0, 13.0]


@pytest.mark.parametrize(("op", "shape"), [("Conv1D", (3, 2, 4)), ("Conv3D", (1, 3, 1, 2, 4))])
def test_other_numbers_of_axes_are_two_with_axes_of_one(op, shape):
    rng = np.random.default_rng(5)
    x, kernel = rng.normal(size=(2, 6, 1, 2)), rng.normal(size=(3, 1, 2, 4))
    plain = run("Conv2D", {"filters": 4, "kernel_size": (3, 1), "use_bias": False}, x, kernel=kernel).value
    size = 3 if op == "Conv1D" else (1, 3, 1)
    images = x[:, :, 0] if op == "Conv1D" else x[:, None]
    params = {"filters": 4, "kernel_size": size, "use_bias": False}
    found = run(op, params, images, kernel=kernel.reshape(shape)).value
    np.testing.assert_allclose(found.reshape(plain.shape), plain)


def test_depthwise_and_separable_over_one_axis():
    x = np.array([[1.0, 10.0], [2.0, 20.0]]).reshape(1, 2, 2)
    deep = np.array([[[1.0], [1.0]], [[2.0], [0.0]]])
    found = run("DepthwiseConv1D", {"kernel_size": 2, "use_bias": False}, x, kernel=deep)
    assert found.value.tolist() == [[[5.0, 10.0]]]
    params = {"filters": 1, "kernel_size": 2, "use_bias": False}
    mix = np.array([1.0, 100.0]).reshape(1, 2, 1)
    mixed = run("SeparableConv1D", params, x, depthwise_kernel=deep, pointwise_kernel=mix)
    assert mixed.value.ravel().tolist() == [1005.0]
