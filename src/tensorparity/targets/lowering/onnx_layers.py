"""Every layer of the catalogue as ONNX operators: one function per family, and the table of them.

ONNX has images channels first, Keras by default channels last: image operators stand between two
transpositions, which a runtime is free to cancel. ``same`` padding is written out from the static
shapes, since ONNX has deprecated its own ``SAME_UPPER``.
"""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from ...core.arrays import Array
from ...operators.arguments import axes_of, axis_of, channels_first, flag, number, pair, pair_of_pairs, positive
from ...operators.spatial import Window, channel_axis, read_window, spatial_axes
from .onnx_activations import ACTIVATION_LAYERS, ALONG_LAST_AXIS, activate
from .onnx_graph import Call, Lowering, Sizes, inverse
from .onnx_sequences import SEQUENCE_LAYERS
from .protobuf import Attribute

_TO_FIRST = (0, 3, 1, 2)


# Dense


def _dense(call: Call) -> str:
    kernel = call.weight("kernel")
    bias = [call.weight("bias")] if flag(call.params, "use_bias") else []
    if call.rank == 2:
        total = call.emit("Gemm", call.inputs[0], kernel, *bias)
    else:  # Gemm takes matrices only
        total = call.emit("MatMul", call.inputs[0], kernel)
        total = call.emit("Add", total, *bias) if bias else total
    return activate(call, call.params["activation"], total)


# Images


def _to_first(call: Call, x: str) -> str:
    return x if channels_first(call.params) else call.transpose(x, _TO_FIRST)


def _from_first(call: Call, x: str) -> str:
    return x if channels_first(call.params) else call.transpose(x, inverse(_TO_FIRST))


def _window_attributes(call: Call, window: Window) -> dict[str, Attribute]:
    heights, widths = (
        window.margins(index, call.shapes[0][axis]) for index, axis in enumerate(spatial_axes(call.params))
    )
    return {
        "kernel_shape": window.size,
        "strides": window.strides,
        "pads": (heights[0], widths[0], heights[1], widths[1]),
    }


# Convolution


def _convolution(call: Call, x: str, kernel: str, group: int, *, bias: bool) -> str:
    """``x`` channels first."""
    window = read_window(call.params, "kernel_size", dilated=True)
    attributes = _window_attributes(call, window)
    more = [call.weight("bias")] if bias else []
    return call.emit("Conv", x, kernel, *more, dilations=window.dilation, group=group, **attributes)


def _finish_convolution(call: Call, total: str) -> str:
    """Activation and data format; an elementwise activation stays beside the convolution, where it can fuse."""
    name = call.params["activation"]
    if name in ALONG_LAST_AXIS:
        return activate(call, name, _from_first(call, total))
    return _from_first(call, activate(call, name, total))


def _filters_first(kernel: Array) -> Array:
    """(height, width, channels, filters) to (filters, channels, height, width)."""
    return kernel.transpose(3, 2, 0, 1)


def _one_channel_each(kernel: Array) -> Array:
    """(height, width, channels, multiplier) to (channels * multiplier, 1, height, width)."""
    height, width = kernel.shape[:2]
    return kernel.transpose(2, 3, 0, 1).reshape(-1, 1, height, width)


def _conv2d(call: Call) -> str:
    x, kernel = _to_first(call, call.inputs[0]), call.weight("kernel", _filters_first)
    bias = flag(call.params, "use_bias")
    return _finish_convolution(call, _convolution(call, x, kernel, positive(call.params, "groups"), bias=bias))


def _channels(call: Call) -> int:
    return call.shapes[0][channel_axis(call.params)]


def _depthwise_conv2d(call: Call) -> str:
    x, kernel = _to_first(call, call.inputs[0]), call.weight("kernel", _one_channel_each)
    bias = flag(call.params, "use_bias")
    return _finish_convolution(call, _convolution(call, x, kernel, _channels(call), bias=bias))


def _separable_conv2d(call: Call) -> str:
    x, kernel = _to_first(call, call.inputs[0]), call.weight("depthwise_kernel", _one_channel_each)
    inner = _convolution(call, x, kernel, _channels(call), bias=False)
    bias = [call.weight("bias")] if flag(call.params, "use_bias") else []
    mixed = call.emit("Conv", inner, call.weight("pointwise_kernel", _filters_first), *bias, kernel_shape=(1, 1))
    return _finish_convolution(call, mixed)


# Pooling


def _pooling(call: Call, *, op: str, **attributes: Attribute) -> str:
    window = read_window(call.params, "pool_size", dilated=False)
    x = _to_first(call, call.inputs[0])
    return _from_first(call, call.emit(op, x, **_window_attributes(call, window), **attributes))


def _global_pooling(call: Call, *, op: str) -> str:
    pooled = call.emit(op, _to_first(call, call.inputs[0]))
    if flag(call.params, "keepdims"):
        return _from_first(call, pooled)
    return call.emit("Flatten", pooled, axis=1)


# Normalization


def _scale(call: Call, shape: Sizes) -> str:
    """Gamma, or the ones that ONNX wants in its place."""
    return call.weight("gamma") if flag(call.params, "scale") else call.numbers(np.ones(shape))


def _batch_normalization(call: Call) -> str:
    """With the moving statistics; ONNX has the channels on axis 1, whatever the rank."""
    axis = axis_of(call.params["axis"], "axis", call.rank)
    others = [index for index in range(call.rank) if index != axis]
    order = (others[0], axis, *others[1:])
    shape = (call.shape[axis],)
    beta = call.weight("beta") if flag(call.params, "center") else call.numbers(np.zeros(shape))
    normalized = call.emit(
        "BatchNormalization",
        call.transpose(call.inputs[0], order),
        _scale(call, shape),
        beta,
        call.weight("moving_mean"),
        call.weight("moving_variance"),
        epsilon=number(call.params, "epsilon"),
    )
    return call.transpose(normalized, inverse(order))


def _layer_normalization(call: Call) -> str:
    """ONNX normalizes over all axes from one on: those of the layer are brought to the end."""
    axes = sorted(axes_of(call.params["axis"], "axis", call.rank))
    order = (*(index for index in range(call.rank) if index not in axes), *axes)
    scale = _scale(call, tuple(call.shape[axis] for axis in axes))
    beta = [call.weight("beta")] if flag(call.params, "center") else []
    normalized = call.emit(
        "LayerNormalization",
        call.transpose(call.inputs[0], order),
        scale,
        *beta,
        axis=-len(axes),
        epsilon=number(call.params, "epsilon"),
    )
    return call.transpose(normalized, inverse(order))


# Merging


def _aligned(call: Call) -> list[str]:
    """Inputs of one rank: the missing axes are inserted behind the batch, where ONNX would put them before it."""
    rank = len(call.shape)
    return [
        x if len(shape) == rank else call.reshape(x, (shape[0], *(1,) * (rank - len(shape)), *shape[1:]))
        for x, shape in zip(call.inputs, call.shapes, strict=True)
    ]


def _pairwise(call: Call, *, op: str) -> str:
    return reduce(lambda left, right: call.emit(op, left, right), _aligned(call))


def _together(call: Call, *, op: str) -> str:
    return call.emit(op, *_aligned(call))


def _concatenate(call: Call) -> str:
    return call.emit("Concat", *call.inputs, axis=axis_of(call.params["axis"], "axis", call.rank))


# Moving values


def _identity(call: Call) -> str:
    return call.emit("Identity", call.inputs[0])


def _rescaling(call: Call) -> str:
    scaled = call.emit("Mul", call.inputs[0], call.numbers(call.params["scale"]))
    return call.emit("Add", scaled, call.numbers(call.params["offset"]))


def _flatten(call: Call) -> str:
    (x,) = call.inputs
    if channels_first(call.params) and call.rank > 2:
        x = call.transpose(x, (0, *range(2, call.rank), 1))
    return call.emit("Flatten", x, axis=1)


def _reshape(call: Call) -> str:
    return call.reshape(call.inputs[0], call.shape)


def _permute(call: Call) -> str:
    return call.emit("Transpose", call.inputs[0], perm=(0, *call.params["dims"]))


def _zero_padding2d(call: Call) -> str:
    margins = [(0, 0)] * 4
    for axis, margin in zip(spatial_axes(call.params), pair_of_pairs(call.params, "padding"), strict=True):
        margins[axis] = margin
    before, after = zip(*margins, strict=True)
    return call.emit("Pad", call.inputs[0], call.sizes([*before, *after]))


def _cropping2d(call: Call) -> str:
    axes, margins = spatial_axes(call.params), pair_of_pairs(call.params, "cropping")
    starts = [before for before, _ in margins]
    ends = [call.shapes[0][axis] - after for axis, (_, after) in zip(axes, margins, strict=True)]
    return call.emit("Slice", call.inputs[0], call.sizes(starts), call.sizes(ends), call.sizes(axes))


#: Of ONNX' many ways to place samples, those the documentation of UpSampling2D describes.
_RESIZE: dict[str, dict[str, Attribute]] = {
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "bilinear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
}


def _up_sampling2d(call: Call) -> str:
    scales = call.numbers((1, 1, *pair(call.params, "size")))
    x = _to_first(call, call.inputs[0])
    return _from_first(call, call.emit("Resize", x, "", scales, **_RESIZE[call.params["interpolation"]]))


LAYERS: dict[str, Lowering] = {
    **ACTIVATION_LAYERS,
    **SEQUENCE_LAYERS,
    "Add": partial(_pairwise, op="Add"),
    "Average": partial(_together, op="Mean"),
    "AveragePooling2D": partial(_pooling, op="AveragePool", count_include_pad=0),
    "BatchNormalization": _batch_normalization,
    "Concatenate": _concatenate,
    "Conv2D": _conv2d,
    "Cropping2D": _cropping2d,
    "Dense": _dense,
    "DepthwiseConv2D": _depthwise_conv2d,
    "Dropout": _identity,
    "Flatten": _flatten,
    "GlobalAveragePooling2D": partial(_global_pooling, op="GlobalAveragePool"),
    "GlobalMaxPooling2D": partial(_global_pooling, op="GlobalMaxPool"),
    "Identity": _identity,
    "LayerNormalization": _layer_normalization,
    "MaxPooling2D": partial(_pooling, op="MaxPool"),
    "Maximum": partial(_together, op="Max"),
    "Minimum": partial(_together, op="Min"),
    "Multiply": partial(_pairwise, op="Mul"),
    "Permute": _permute,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "SeparableConv2D": _separable_conv2d,
    "Subtract": partial(_pairwise, op="Sub"),
    "UpSampling2D": _up_sampling2d,
    "ZeroPadding2D": _zero_padding2d,
}
