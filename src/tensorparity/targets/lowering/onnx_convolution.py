"""Convolutions as ONNX operators: plain, depthwise, separable and transposed, over one, two and three axes.

ONNX has images channels first, Keras by default channels last: the operators stand between two
transpositions, which a runtime is free to cancel. ``same`` padding is written out from the static
shapes, since ONNX has deprecated its own ``SAME_UPPER``.
"""

from __future__ import annotations

from functools import partial

from ...core.arrays import Array
from ...operators.arguments import flag, positive
from ...operators.layers.spatial import PADDINGS, Window, channel_axis, read_window, spatial_axes
from .onnx_activations import ALONG_LAST_AXIS, activate
from .onnx_graph import Lowering, OnnxCall
from .onnx_layout import from_first, to_first
from .protobuf import Attribute


def window_attributes(window: Window, sizes: tuple[int, ...]) -> dict[str, Attribute]:
    """Of a window on images of these spatial sizes."""
    margins = [window.margins(index, size) for index, size in enumerate(sizes)]
    return {
        "kernel_shape": window.size,
        "strides": window.strides,
        "pads": (*(before for before, _ in margins), *(after for _, after in margins)),
    }


def spatial_sizes(call: OnnxCall, dims: int) -> tuple[int, ...]:
    return tuple(call.shapes[0][axis] for axis in spatial_axes(call.params, dims))


def _window(call: OnnxCall, dims: int) -> Window:
    paddings = (*PADDINGS, "causal") if dims == 1 else PADDINGS
    return read_window(call.params, "kernel_size", dilated=True, dims=dims, paddings=paddings)


def _bias(call: OnnxCall) -> list[str]:
    return [call.weight("bias")] if flag(call.params, "use_bias") else []


def _convolution(call: OnnxCall, x: str, kernel: str, group: int, *, dims: int, bias: bool) -> str:
    """``x`` channels first."""
    window = _window(call, dims)
    attributes = window_attributes(window, spatial_sizes(call, dims))
    more = _bias(call) if bias else []
    return call.emit("Conv", x, kernel, *more, dilations=window.dilation, group=group, **attributes)


def _finish(call: OnnxCall, total: str, dims: int) -> str:
    name = call.params["activation"]
    if name in ALONG_LAST_AXIS:
        return activate(call, name, from_first(call, total, dims))
    return from_first(call, activate(call, name, total), dims)


def filters_first(kernel: Array) -> Array:
    """(*sizes, channels, filters) to (filters, channels, *sizes)."""
    dims = kernel.ndim - 2
    return kernel.transpose(dims + 1, dims, *range(dims))


def _one_channel_each(kernel: Array) -> Array:
    """(*sizes, channels, multiplier) to (channels * multiplier, 1, *sizes)."""
    dims = kernel.ndim - 2
    return kernel.transpose(dims, dims + 1, *range(dims)).reshape(-1, 1, *kernel.shape[:dims])


def _conv(call: OnnxCall, *, dims: int) -> str:
    x, kernel = to_first(call, call.x, dims), call.weight("kernel", filters_first)
    groups = positive(call.params, "groups")
    return _finish(call, _convolution(call, x, kernel, groups, dims=dims, bias=True), dims)


def _channels(call: OnnxCall, dims: int) -> int:
    return call.shapes[0][channel_axis(call.params, dims)]


def _depthwise(call: OnnxCall, *, dims: int) -> str:
    x, kernel = to_first(call, call.x, dims), call.weight("kernel", _one_channel_each)
    return _finish(call, _convolution(call, x, kernel, _channels(call, dims), dims=dims, bias=True), dims)


def _separable(call: OnnxCall, *, dims: int) -> str:
    x, kernel = to_first(call, call.x, dims), call.weight("depthwise_kernel", _one_channel_each)
    inner = _convolution(call, x, kernel, _channels(call, dims), dims=dims, bias=False)
    pointwise = call.weight("pointwise_kernel", filters_first)
    return _finish(call, call.emit("Conv", inner, pointwise, *_bias(call), kernel_shape=(1,) * dims), dims)


def _transposed(call: OnnxCall, *, dims: int) -> str:
    """Everything that the kernel reaches, cut at both ends; what is wanted beyond it is zeros, and the bias."""
    window = _window(call, dims)
    axes = spatial_axes(call.params, dims)
    wanted = [call.shape[axis] for axis in axes]
    full = [
        (size - 1) * window.strides[index] + window.reach(index) for index, size in enumerate(spatial_sizes(call, dims))
    ]
    starts = [
        0 if window.padding == "valid" else max(size - length, 0) // 2
        for size, length in zip(full, wanted, strict=True)
    ]
    ends = [size - start - length for size, start, length in zip(full, starts, wanted, strict=True)]
    beyond = [max(-end, 0) for end in ends]
    steps = zip(beyond, window.strides, window.dilation, strict=True)
    native = all(extra < max(stride, dilation) for extra, stride, dilation in steps)
    total = call.emit(
        "ConvTranspose",
        to_first(call, call.x, dims),
        call.weight("kernel", filters_first),  # (channels, filters, *sizes), because Keras has filters before channels
        *(_bias(call) if native else []),
        kernel_shape=window.size,
        strides=window.strides,
        dilations=window.dilation,
        pads=(*starts, *(max(end, 0) for end in ends)),
        output_padding=tuple(beyond) if native else (0,) * dims,
    )
    if not native:
        total = call.emit("Pad", total, call.sizes([0] * (2 + dims) + [0, 0, *beyond]))
        if flag(call.params, "use_bias"):
            total = call.emit("Add", total, call.weight("bias", lambda bias: bias.reshape(-1, *(1,) * dims)))
    return _finish(call, total, dims)


CONVOLUTION_LAYERS: dict[str, Lowering] = {
    **{f"Conv{dims}D": partial(_conv, dims=dims) for dims in (1, 2, 3)},
    **{f"Conv{dims}DTranspose": partial(_transposed, dims=dims) for dims in (1, 2, 3)},
    **{f"DepthwiseConv{dims}D": partial(_depthwise, dims=dims) for dims in (1, 2)},
    **{f"SeparableConv{dims}D": partial(_separable, dims=dims) for dims in (1, 2)},
}
