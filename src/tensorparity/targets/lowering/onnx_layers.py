"""Every layer of the catalogue as ONNX operators: one function per family, and the table of them.

ONNX has images channels first, Keras by default channels last: image operators stand between two
transpositions, which a runtime is free to cancel. ``same`` padding is written out from the static
shapes, since ONNX has deprecated its own ``SAME_UPPER``.
"""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from ...core.arrays import Array
from ...operators.arguments import axes_of, axis_of, channels_first, flag, margins_of, number, pair, positive
from ...operators.catalogue import layer, layer_names
from ...operators.spatial import PADDINGS, Window, channel_axis, read_window, spatial_axes
from .onnx_activations import ACTIVATION_LAYERS, ALONG_LAST_AXIS, activate
from .onnx_graph import Call, Lowering, Sizes, inverse
from .onnx_sequences import SEQUENCE_LAYERS
from .protobuf import Attribute

_DIMS = (1, 2, 3)


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


def _order(dims: int) -> Sizes:
    return (0, dims + 1, *range(1, dims + 1))


def _to_first(call: Call, x: str, dims: int) -> str:
    return x if channels_first(call.params) else call.transpose(x, _order(dims))


def _from_first(call: Call, x: str, dims: int) -> str:
    return x if channels_first(call.params) else call.transpose(x, inverse(_order(dims)))


def _window_attributes(call: Call, window: Window) -> dict[str, Attribute]:
    axes = spatial_axes(call.params, window.dims)
    margins = [window.margins(index, call.shapes[0][axis]) for index, axis in enumerate(axes)]
    return {
        "kernel_shape": window.size,
        "strides": window.strides,
        "pads": (*(before for before, _ in margins), *(after for _, after in margins)),
    }


# Convolution


def _convolution(call: Call, x: str, kernel: str, group: int, *, dims: int, bias: bool) -> str:
    """``x`` channels first."""
    paddings = (*PADDINGS, "causal") if dims == 1 else PADDINGS
    window = read_window(call.params, "kernel_size", dilated=True, dims=dims, paddings=paddings)
    attributes = _window_attributes(call, window)
    more = [call.weight("bias")] if bias else []
    return call.emit("Conv", x, kernel, *more, dilations=window.dilation, group=group, **attributes)


def _finish_convolution(call: Call, total: str, dims: int) -> str:
    """Activation and data format; an elementwise activation stays beside the convolution, where it can fuse."""
    name = call.params["activation"]
    if name in ALONG_LAST_AXIS:
        return activate(call, name, _from_first(call, total, dims))
    return _from_first(call, activate(call, name, total), dims)


def _filters_first(kernel: Array) -> Array:
    """(*sizes, channels, filters) to (filters, channels, *sizes)."""
    dims = kernel.ndim - 2
    return kernel.transpose(dims + 1, dims, *range(dims))


def _one_channel_each(kernel: Array) -> Array:
    """(*sizes, channels, multiplier) to (channels * multiplier, 1, *sizes)."""
    dims = kernel.ndim - 2
    return kernel.transpose(dims, dims + 1, *range(dims)).reshape(-1, 1, *kernel.shape[:dims])


def _conv(call: Call, *, dims: int) -> str:
    x, kernel = _to_first(call, call.inputs[0], dims), call.weight("kernel", _filters_first)
    bias, groups = flag(call.params, "use_bias"), positive(call.params, "groups")
    return _finish_convolution(call, _convolution(call, x, kernel, groups, dims=dims, bias=bias), dims)


def _channels(call: Call, dims: int) -> int:
    return call.shapes[0][channel_axis(call.params, dims)]


def _depthwise_conv(call: Call, *, dims: int) -> str:
    x, kernel = _to_first(call, call.inputs[0], dims), call.weight("kernel", _one_channel_each)
    bias, groups = flag(call.params, "use_bias"), _channels(call, dims)
    return _finish_convolution(call, _convolution(call, x, kernel, groups, dims=dims, bias=bias), dims)


def _separable_conv(call: Call, *, dims: int) -> str:
    x, kernel = _to_first(call, call.inputs[0], dims), call.weight("depthwise_kernel", _one_channel_each)
    inner = _convolution(call, x, kernel, _channels(call, dims), dims=dims, bias=False)
    bias = [call.weight("bias")] if flag(call.params, "use_bias") else []
    pointwise = call.weight("pointwise_kernel", _filters_first)
    return _finish_convolution(call, call.emit("Conv", inner, pointwise, *bias, kernel_shape=(1,) * dims), dims)


# Pooling


def _pooling(call: Call, *, op: str, dims: int, **attributes: Attribute) -> str:
    window = read_window(call.params, "pool_size", dilated=False, dims=dims)
    x = _to_first(call, call.inputs[0], dims)
    return _from_first(call, call.emit(op, x, **_window_attributes(call, window), **attributes), dims)


def _global_pooling(call: Call, *, op: str, dims: int) -> str:
    pooled = call.emit(op, _to_first(call, call.inputs[0], dims))
    if flag(call.params, "keepdims"):
        return _from_first(call, pooled, dims)
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


def _repeat_vector(call: Call) -> str:
    column = call.reshape(call.inputs[0], (call.shape[0], 1, call.shape[2]))
    return call.emit("Expand", column, call.sizes(call.shape))


def _margin_axes(call: Call, dims: int) -> Sizes:
    """Some layers have no data format, and mean channels last."""
    return spatial_axes({"data_format": None, **call.params}, dims)


def _zero_padding(call: Call, *, dims: int) -> str:
    margins = [(0, 0)] * (dims + 2)
    for axis, margin in zip(_margin_axes(call, dims), margins_of(call.params, "padding", dims), strict=True):
        margins[axis] = margin
    before, after = zip(*margins, strict=True)
    return call.emit("Pad", call.inputs[0], call.sizes([*before, *after]))


def _cropping(call: Call, *, dims: int) -> str:
    axes, margins = _margin_axes(call, dims), margins_of(call.params, "cropping", dims)
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
    x = _to_first(call, call.inputs[0], 2)
    return _from_first(call, call.emit("Resize", x, "", scales, **_RESIZE[call.params["interpolation"]]), 2)


LAYERS: dict[str, Lowering] = {
    **ACTIVATION_LAYERS,
    **{name: _identity for name in layer_names() if layer(name).random},
    **{f"AveragePooling{dims}D": partial(_pooling, op="AveragePool", dims=dims, count_include_pad=0) for dims in _DIMS},
    **{f"Conv{dims}D": partial(_conv, dims=dims) for dims in _DIMS},
    **{f"Cropping{dims}D": partial(_cropping, dims=dims) for dims in _DIMS},
    **{f"DepthwiseConv{dims}D": partial(_depthwise_conv, dims=dims) for dims in (1, 2)},
    **{f"GlobalAveragePooling{dims}D": partial(_global_pooling, op="GlobalAveragePool", dims=dims) for dims in (2, 3)},
    **{f"GlobalMaxPooling{dims}D": partial(_global_pooling, op="GlobalMaxPool", dims=dims) for dims in (2, 3)},
    **{f"MaxPooling{dims}D": partial(_pooling, op="MaxPool", dims=dims) for dims in _DIMS},
    **{f"SeparableConv{dims}D": partial(_separable_conv, dims=dims) for dims in (1, 2)},
    **{f"ZeroPadding{dims}D": partial(_zero_padding, dims=dims) for dims in _DIMS},
    **SEQUENCE_LAYERS,
    "ActivityRegularization": _identity,
    "Add": partial(_pairwise, op="Add"),
    "Average": partial(_together, op="Mean"),
    "BatchNormalization": _batch_normalization,
    "Concatenate": _concatenate,
    "Dense": _dense,
    "Flatten": _flatten,
    "Identity": _identity,
    "LayerNormalization": _layer_normalization,
    "Maximum": partial(_together, op="Max"),
    "Minimum": partial(_together, op="Min"),
    "Multiply": partial(_pairwise, op="Mul"),
    "Permute": _permute,
    "RepeatVector": _repeat_vector,
    "Rescaling": _rescaling,
    "Reshape": _reshape,
    "Subtract": partial(_pairwise, op="Sub"),
    "UpSampling2D": _up_sampling2d,
}
