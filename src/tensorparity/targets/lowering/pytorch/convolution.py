"""Convolutions: plain, depthwise, separable and transposed, over one, two and three axes.

torch has channels first and pads alike on both sides; other paddings are written out as zeros.
"""

from __future__ import annotations

from functools import partial

from ....operators.arguments import flag, positive
from ....operators.layers.spatial import PADDINGS, Window, channel_axis, read_window, spatial_axes
from .activations import activate
from .layout import from_first, to_first
from .program import Lowering, TorchCall, TorchTensor

_CAUSAL = (*PADDINGS, "causal")


def window_of(call: TorchCall, dims: int) -> Window:
    return read_window(call.params, "kernel_size", dilated=True, dims=dims, paddings=_CAUSAL)


def _bias(call: TorchCall) -> TorchTensor | None:
    return call.weight("bias") if flag(call.params, "use_bias") else None


def _finish(call: TorchCall, total: TorchTensor, dims: int) -> TorchTensor:
    """Back to the layer's data format, then the activation: softmax sees that format's last axis."""
    return activate(call, call.params["activation"], from_first(call, total, dims))


def convolve(
    call: TorchCall,
    x: TorchTensor,
    sizes: tuple[int, ...],
    kernel: TorchTensor,
    bias: TorchTensor | None,
    window: Window,
    groups: int = 1,
) -> TorchTensor:
    """``x`` and ``kernel`` channels first; ``sizes`` are the spatial ones of ``x``."""
    margins = [window.margins(index, size) for index, size in enumerate(sizes)]
    even = all(before == after for before, after in margins)
    if not even:
        x = call.emit("nn.functional.pad", x, [side for margin in reversed(margins) for side in margin])
    return call.emit(
        f"nn.functional.conv{window.dims}d",
        x,
        kernel,
        bias,
        stride=window.strides,
        padding=[before if even else 0 for before, _ in margins],
        dilation=window.dilation,
        groups=groups,
    )


def filters_first(call: TorchCall, kernel: TorchTensor, dims: int) -> TorchTensor:
    """(*sizes, channels, filters) to (filters, channels, *sizes)."""
    return contiguous(call, call.permute(kernel, (dims + 1, dims, *range(dims))))


def contiguous(call: TorchCall, kernel: TorchTensor) -> TorchTensor:
    """As users have their kernels: of views into other layouts torch cannot always compute the gradient."""
    return call.emit("Tensor.contiguous", kernel)


def _one_channel_each(call: TorchCall, name: str, dims: int) -> TorchTensor:
    """(*sizes, channels, multiplier) to (channels * multiplier, 1, *sizes)."""
    shape = call.declared[name].shape
    turned = call.permute(call.weight(name), (dims, dims + 1, *range(dims)))
    return contiguous(call, call.reshape(turned, (shape[dims] * shape[dims + 1], 1, *shape[:dims])))


def spatial_sizes(call: TorchCall, dims: int) -> tuple[int, ...]:
    return tuple(call.shapes[0][axis] for axis in spatial_axes(call.params, dims))


def _conv(call: TorchCall, *, dims: int) -> TorchTensor:
    kernel = filters_first(call, call.weight("kernel"), dims)
    groups = positive(call.params, "groups")
    x = to_first(call, call.x, dims)
    total = convolve(call, x, spatial_sizes(call, dims), kernel, _bias(call), window_of(call, dims), groups)
    return _finish(call, total, dims)


def _channels(call: TorchCall, dims: int) -> int:
    return call.shapes[0][channel_axis(call.params, dims)]


def _depthwise(call: TorchCall, *, dims: int) -> TorchTensor:
    kernel, x = _one_channel_each(call, "kernel", dims), to_first(call, call.x, dims)
    sizes, groups = spatial_sizes(call, dims), _channels(call, dims)
    return _finish(call, convolve(call, x, sizes, kernel, _bias(call), window_of(call, dims), groups), dims)


def _separable(call: TorchCall, *, dims: int) -> TorchTensor:
    kernel, x = _one_channel_each(call, "depthwise_kernel", dims), to_first(call, call.x, dims)
    sizes, groups = spatial_sizes(call, dims), _channels(call, dims)
    inner = convolve(call, x, sizes, kernel, None, window_of(call, dims), groups)
    mixing = filters_first(call, call.weight("pointwise_kernel"), dims)
    return _finish(call, call.emit(f"nn.functional.conv{dims}d", inner, mixing, _bias(call)), dims)


def _transposed(call: TorchCall, *, dims: int) -> TorchTensor:
    """Torch cuts alike at both ends and lengthens the end; what it cannot say is cut or filled afterwards."""
    window = window_of(call, dims)
    kernel = filters_first(call, call.weight("kernel"), dims)
    axes = spatial_axes(call.params, dims)
    wanted = [call.shape[axis] for axis in axes]
    full = [(call.shapes[0][axis] - 1) * window.strides[index] + window.reach(index) for index, axis in enumerate(axes)]
    starts = [
        0 if window.padding == "valid" else max(size - length, 0) // 2
        for size, length in zip(full, wanted, strict=True)
    ]
    spare = [length - size + 2 * start for length, size, start in zip(wanted, full, starts, strict=True)]
    steps = zip(spare, window.strides, window.dilation, strict=True)
    native = all(0 <= extra < max(stride, dilation) for extra, stride, dilation in steps)
    x, bias = to_first(call, call.x, dims), _bias(call)
    total = call.emit(
        f"nn.functional.conv_transpose{dims}d",
        x,
        kernel,
        bias if native else None,
        stride=window.strides,
        padding=starts if native else [0] * dims,
        output_padding=spare if native else [0] * dims,
        dilation=window.dilation,
    )
    if not native:
        total = _cut(call, total, full, starts, wanted)
        if bias is not None:
            total = call.add(total, call.reshape(bias, [-1] + [1] * dims))
    return _finish(call, total, dims)


def _cut(call: TorchCall, x: TorchTensor, full: list[int], starts: list[int], wanted: list[int]) -> TorchTensor:
    """A negative margin cuts, a positive one fills with zeros."""
    margins = [(-start, start + length - size) for size, start, length in zip(full, starts, wanted, strict=True)]
    return call.emit("nn.functional.pad", x, [side for margin in reversed(margins) for side in margin])


CONVOLUTION_LAYERS: dict[str, Lowering] = {
    **{f"Conv{dims}D": partial(_conv, dims=dims) for dims in (1, 2, 3)},
    **{f"Conv{dims}DTranspose": partial(_transposed, dims=dims) for dims in (1, 2, 3)},
    **{f"DepthwiseConv{dims}D": partial(_depthwise, dims=dims) for dims in (1, 2)},
    **{f"SeparableConv{dims}D": partial(_separable, dims=dims) for dims in (1, 2)},
}
