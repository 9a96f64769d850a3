"""Convolutions over height and width: Conv2D, DepthwiseConv2D, SeparableConv2D."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..core.arrays import Array
from . import functions
from .arguments import Pair, flag, known_size, need_rank, positive
from .dense import ACTIVATION, USE_BIAS, biased
from .rounding import growth
from .spatial import (
    DATA_FORMATS,
    Window,
    channel_axis,
    from_last,
    read_window,
    to_last,
    windowed_shape,
)
from .spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, WeightSpec

#: Bytes of unfolded input that are held at once, whatever the size of the layer.
CHUNK_BYTES = 64 * 2**20

_KERNEL_SIZE = Parameter("kernel_size", None, (1, 2, 3, 5, (1, 3), (3, 2)), (0, -1, (2, 2, 2), "3"), required=True)
_STRIDES = Parameter("strides", (1, 1), ((1, 1), 2, 3, (1, 2)), (0, -1, (1, 1, 1)))
_PADDING = Parameter("padding", "valid", ("valid", "same"), ("causal", "full", 1))
_DATA_FORMAT = Parameter("data_format", None, DATA_FORMATS, ("channels_middle",))
_DILATION = Parameter("dilation_rate", (1, 1), ((1, 1), 2, (1, 2)), (0, -1))
_FILTERS = Parameter("filters", None, (1, 2, 4, 6), (0, -1), required=True)
_MULTIPLIER = Parameter("depth_multiplier", 1, (1, 2, 3), (0, -1))


def _window(params: Params) -> Window:
    window = read_window(params, "kernel_size", dilated=True)
    if max(window.strides) > 1 and max(window.dilation) > 1:
        raise ShapeError(
            "Arguments `strides` and `dilation_rate`: expected at most one of them above 1. "
            f"Received: strides={window.strides}, dilation_rate={window.dilation}"
        )
    return window


def _channels(params: Params, shape: Shape) -> int:
    need_rank(shape, 4)
    return known_size(shape, channel_axis(params), "the channels")


def _output(params: Params, shape: Shape, channels: int) -> tuple[Shape, ...]:
    flag(params, "use_bias")
    functions.check_name(params["activation"])
    return (windowed_shape(params, _window(params), shape, channels),)


def _with_bias(params: Params, found: dict[str, WeightSpec], size: int, fan_in: int) -> dict[str, WeightSpec]:
    if flag(params, "use_bias"):
        found["bias"] = WeightSpec((size,), "bias", fan_in=fan_in)
    return found


def _finish(params: Params, total: Evaluation, weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    """Back to the data format of the input, then bias and activation: softmax sees that format's last axis."""
    turned = Evaluation(from_last(params, total.value), from_last(params, total.kappa))
    return (biased(turned, params, weights, axis=channel_axis(params)),)


# Conv2D


def _groups(params: Params, channels: int) -> int:
    groups, filters = positive(params, "groups"), positive(params, "filters")
    if channels % groups or filters % groups:
        raise ShapeError(
            "Argument `groups`: expected a divisor of the input channels and of `filters`. "
            f"Received: groups={groups}, channels={channels}, filters={filters}"
        )
    return groups


def _conv_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    _groups(params, _channels(params, shapes[0]))
    return _output(params, shapes[0], positive(params, "filters"))


def _conv_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    channels, filters, size = _channels(params, shapes[0]), positive(params, "filters"), _window(params).size
    depth = channels // _groups(params, channels)
    fan_in = size[0] * size[1] * depth
    return _with_bias(params, {"kernel": WeightSpec((*size, depth, filters), "kernel", fan_in=fan_in)}, filters, fan_in)


def _chunks(batch: int, rows: int, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of whole images, or of rows of one image where an image is too large."""
    height = max(1, CHUNK_BYTES // max(1, row_bytes))
    if height >= rows:
        step = max(1, height // max(1, rows))
        for start in range(0, batch, step):
            yield slice(start, start + step), slice(None)
        return
    for image in range(batch):
        for start in range(0, rows, height):
            yield slice(image, image + 1), slice(start, start + height)


def contract(x: Array, kernel: Array, window: Window) -> Evaluation:
    """Sum over window and channels, channels last, by unfolding a bounded part of the input at a time."""
    terms, filters = int(np.prod(kernel.shape[:3])), kernel.shape[3]
    patches, flat = window.patches(x), kernel.reshape(-1, kernel.shape[3])
    magnitude = np.abs(flat)
    shape = (*patches.shape[:3], filters)
    value, kappa = np.empty(shape), np.empty(shape)
    for images, rows in _chunks(shape[0], shape[1], shape[2] * terms * x.itemsize):
        part = patches[images, rows]
        columns = part.reshape(-1, terms)  # copies: this is the unfolding
        value[images, rows] = (columns @ flat).reshape(*part.shape[:3], filters)
        kappa[images, rows] = (np.abs(columns) @ magnitude).reshape(*part.shape[:3], filters)
    kappa *= growth(terms)
    return Evaluation(value, kappa)


def _grouped(x: Array, kernel: Array, window: Window, groups: int) -> Evaluation:
    if groups == 1:
        return contract(x, kernel, window)
    parts = [
        contract(inputs, filters, window)
        for inputs, filters in zip(np.split(x, groups, axis=3), np.split(kernel, groups, axis=3), strict=True)
    ]
    return Evaluation(
        np.concatenate([part.value for part in parts], axis=3), np.concatenate([part.kappa for part in parts], axis=3)
    )


def _conv_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = to_last(params, inputs[0])
    return _finish(params, _grouped(x, weights["kernel"], _window(params), positive(params, "groups")), weights)


CONV2D = LayerSpec(
    name="Conv2D",
    api="keras.layers.Conv2D",
    arity=(1, 1),
    ranks=(4,),
    parameters=(
        _FILTERS,
        _KERNEL_SIZE,
        _STRIDES,
        _PADDING,
        _DATA_FORMAT,
        _DILATION,
        Parameter("groups", 1, (1, 2), (0, -1)),
        ACTIVATION,
        USE_BIAS,
    ),
    shape=_conv_shape,
    weights=_conv_weights,
    reference=_conv_reference,
    formula=(
        "output = activation(the cross-correlation of the padded input with the kernel, at every stride, summed over "
        "the channels of the filter's group, + bias)"
    ),
    hazards=("strides and dilation_rate may not both exceed 1", "filters and input channels are multiples of groups"),
)


# DepthwiseConv2D


def _depthwise_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    return _output(params, shapes[0], _channels(params, shapes[0]) * positive(params, "depth_multiplier"))


def _depthwise_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    channels, size, multiplier = (
        _channels(params, shapes[0]),
        _window(params).size,
        positive(params, "depth_multiplier"),
    )
    kernel = _depthwise_kernel(size, channels, multiplier)
    return _with_bias(params, {"kernel": kernel}, channels * multiplier, kernel.fan_in)


def _depthwise_kernel(size: Pair, channels: int, multiplier: int) -> WeightSpec:
    return WeightSpec((*size, channels, multiplier), "kernel", fan_in=size[0] * size[1])


def depthwise(x: Array, kernel: Array, window: Window) -> Evaluation:
    """Each channel with its own filters; output channel ``c * depth_multiplier + m`` comes from channel c."""
    rows, columns = window.positions(0, x.shape[1]), window.positions(1, x.shape[2])
    shape = (x.shape[0], rows, columns, *kernel.shape[2:])
    value, kappa = np.zeros(shape), np.zeros(shape)
    for i, j, seen in window.taps(x):
        term = seen[..., None] * kernel[i, j]
        value += term
        kappa += np.abs(term)
    kappa *= growth(kernel.shape[0] * kernel.shape[1])
    return Evaluation(value.reshape(*shape[:3], -1), kappa.reshape(*shape[:3], -1))


def _depthwise_reference(
    params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    return _finish(params, depthwise(to_last(params, inputs[0]), weights["kernel"], _window(params)), weights)


DEPTHWISE_CONV2D = LayerSpec(
    name="DepthwiseConv2D",
    api="keras.layers.DepthwiseConv2D",
    arity=(1, 1),
    ranks=(4,),
    parameters=(_KERNEL_SIZE, _STRIDES, _PADDING, _MULTIPLIER, _DATA_FORMAT, _DILATION, ACTIVATION, USE_BIAS),
    shape=_depthwise_shape,
    weights=_depthwise_weights,
    reference=_depthwise_reference,
    formula=(
        "output = activation(each input channel correlated with its own depth_multiplier filters, the results side by "
        "side, + bias)"
    ),
    hazards=("strides and dilation_rate may not both exceed 1", "TensorFlow wants equal strides on both axes"),
)


# SeparableConv2D


def _separable_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    _channels(params, shapes[0])
    positive(params, "depth_multiplier")
    return _output(params, shapes[0], positive(params, "filters"))


def _separable_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    channels, size, multiplier = (
        _channels(params, shapes[0]),
        _window(params).size,
        positive(params, "depth_multiplier"),
    )
    inner, filters = channels * multiplier, positive(params, "filters")
    found = {
        "depthwise_kernel": _depthwise_kernel(size, channels, multiplier),
        "pointwise_kernel": WeightSpec((1, 1, inner, filters), "kernel", fan_in=inner),
    }
    return _with_bias(params, found, filters, inner)


def _separable_reference(
    params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    inner = depthwise(to_last(params, inputs[0]), weights["depthwise_kernel"], _window(params))
    mixing = weights["pointwise_kernel"][0, 0]
    magnitude = np.abs(mixing)
    rounded = growth(mixing.shape[0]) * (np.abs(inner.value) @ magnitude)
    return _finish(params, Evaluation(inner.value @ mixing, rounded + inner.kappa @ magnitude), weights)


SEPARABLE_CONV2D = LayerSpec(
    name="SeparableConv2D",
    api="keras.layers.SeparableConv2D",
    arity=(1, 1),
    ranks=(4,),
    parameters=(
        _FILTERS,
        _KERNEL_SIZE,
        _STRIDES,
        _PADDING,
        _DATA_FORMAT,
        _DILATION,
        _MULTIPLIER,
        ACTIVATION,
        USE_BIAS,
    ),
    shape=_separable_shape,
    weights=_separable_weights,
    reference=_separable_reference,
    formula=(
        "output = activation(a depthwise convolution without bias, then a 1x1 convolution that mixes its channels, "
        "+ bias)"
    ),
    hazards=("strides and dilation_rate may not both exceed 1", "TensorFlow wants equal strides on both axes"),
)
