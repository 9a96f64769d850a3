"""Convolutions, pooling, margins and resizing: torch has channels first and pads by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from .functions import ACTIVATIONS
from .registry import Params, Tensor, Weights, layer, over_axes, sizes

_CONVOLVE = (functional.conv1d, functional.conv2d, functional.conv3d)
_SPREAD = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)
_LARGEST = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)
_MEAN = (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)


def first(p: Params, x: Tensor) -> Tensor:
    """Channels first, whatever the layer's data format."""
    return x if p.get("data_format") == "channels_first" else x.movedim(-1, 1)


def back(p: Params, x: Tensor) -> Tensor:
    return x if p.get("data_format") == "channels_first" else x.movedim(1, -1)


def padded(x: Tensor, p: Params, window: Sequence[int], strides: Sequence[int], fill: float = 0.0) -> Tensor:
    """``x``, channels first, with the zeros of a padding; ``window`` is what the window spans."""
    if p["padding"] == "valid":
        return x
    margins: list[int] = []
    for size, span, stride in reversed(list(zip(x.shape[2:], window, strides, strict=True))):
        if p["padding"] == "causal":
            margins += [span - 1, 0]
        else:
            missing = max((-(-size // stride) - 1) * stride + span - size, 0)
            margins += [missing // 2, missing - missing // 2]
    return functional.pad(x, margins, value=fill)


def convolved(p: Params, x: Tensor, kernel: Tensor, groups: int = 1, **changed: Any) -> Tensor:
    """``x``, channels first, with a kernel of torch's layout."""
    p = {**p, **changed}
    dims = x.dim() - 2
    strides, apart = sizes(p["strides"], dims), sizes(p["dilation_rate"], dims)
    span = [(size - 1) * step + 1 for size, step in zip(kernel.shape[2:], apart, strict=True)]
    x = padded(x, p, span, strides)
    return _CONVOLVE[dims - 1](x, kernel, stride=tuple(strides), dilation=tuple(apart), groups=groups)


def finish(p: Params, x: Tensor, weights: Weights) -> Tensor:
    """Bias along the channels, then the data format asked for, then the activation, which may look along an axis."""
    if "bias" in weights:
        x = x + weights["bias"].reshape(-1, *[1] * (x.dim() - 2))
    return ACTIVATIONS[p["activation"]](back(p, x))


def turned(kernel: Tensor) -> Tensor:
    """(sizes..., in, out) as (out, in, sizes...), not as a view: one of torch's gradients refuses those."""
    return kernel.movedim((-1, -2), (0, 1)).contiguous()


@layer(*over_axes("Conv*"))
def _conv(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    found = convolved(p, first(p, inputs[0]), turned(weights["kernel"]), p["groups"])
    return finish(p, found, weights)


def _depthwise(p: Params, x: Tensor, kernel: Tensor) -> Tensor:
    """(sizes..., channels, multiplier) as one group of filters for each channel."""
    *window, channels, multiplier = kernel.shape
    each = kernel.reshape(*window, 1, channels * multiplier)
    return convolved(p, x, turned(each), channels)


@layer(*over_axes("DepthwiseConv*", (1, 2)))
def _depthwise_conv(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return finish(p, _depthwise(p, first(p, inputs[0]), weights["kernel"]), weights)


@layer(*over_axes("SeparableConv*", (1, 2)))
def _separable(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    inner = _depthwise(p, first(p, inputs[0]), weights["depthwise_kernel"])
    mixed = convolved(p, inner, turned(weights["pointwise_kernel"]), strides=1, dilation_rate=1, padding="valid")
    return finish(p, mixed, weights)


@layer(*over_axes("Conv*Transpose"))
def _transposed(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Torch's whole spread, cut or lengthened to the documented size."""
    x = first(p, inputs[0])
    dims = x.dim() - 2
    strides, apart = sizes(p["strides"], dims), sizes(p["dilation_rate"], dims)
    kernel = turned(weights["kernel"])  # (sizes..., out, in) becomes (in, out, sizes...)
    whole = _SPREAD[dims - 1](x, kernel, stride=tuple(strides), dilation=tuple(apart))
    margins: list[int] = []
    for axis in reversed(range(dims)):
        extra = None if p["output_padding"] is None else sizes(p["output_padding"], dims)[axis]
        span = (kernel.shape[axis + 2] - 1) * apart[axis] + 1
        start, length = _cut(p["padding"], x.shape[axis + 2], span, strides[axis], extra)
        margins += [-start, start + length - whole.shape[axis + 2]]
    return finish(p, functional.pad(whole, margins), weights)


def _cut(padding: str, size: int, span: int, stride: int, extra: int | None) -> tuple[int, int]:
    """Where the output begins in the whole spread, and its length."""
    whole = (size - 1) * stride + span
    if padding == "valid":
        return 0, whole + (extra if extra is not None else max(stride - span, 0))
    length = size * stride if extra is None else whole - 2 * (span // 2) + extra
    return max(whole - length, 0) // 2, length


# Pooling


def _pooled(p: Params, x: Tensor, pool: Any, fill: float) -> Tensor:
    dims = x.dim() - 2
    window = sizes(p["pool_size"], dims)
    strides = window if p["strides"] is None else sizes(p["strides"], dims)
    return pool[dims - 1](padded(x, p, window, strides, fill), tuple(window), tuple(strides))


@layer(*over_axes("MaxPooling*"))
def _max(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return back(p, _pooled(p, first(p, inputs[0]), _LARGEST, -torch.inf))


@layer(*over_axes("AveragePooling*"))
def _average(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])
    return back(p, _pooled(p, x, _MEAN, 0.0) / _pooled(p, torch.ones_like(x), _MEAN, 0.0))


@layer(*over_axes("GlobalAveragePooling*"))
def _global_average(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])
    found = x.mean(dim=tuple(range(2, x.dim())), keepdim=p["keepdims"])
    return back(p, found) if p["keepdims"] else found


@layer(*over_axes("GlobalMaxPooling*"))
def _global_max(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])
    found = x.amax(dim=tuple(range(2, x.dim())), keepdim=p["keepdims"])
    return back(p, found) if p["keepdims"] else found


_ADAPTIVE = {
    "Average": (functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d),
    "Max": (functional.adaptive_max_pool1d, functional.adaptive_max_pool2d, functional.adaptive_max_pool3d),
}


def _adaptive(kind: str) -> Any:
    def function(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
        x = first(p, inputs[0])
        dims = x.dim() - 2
        return back(p, _ADAPTIVE[kind][dims - 1](x, tuple(sizes(p["output_size"], dims))))

    return function


for _kind in _ADAPTIVE:
    layer(*over_axes(f"Adaptive{_kind}Pooling*"))(_adaptive(_kind))


# Margins and sizes


def _margins(p: Params, value: Any, dims: int, sign: int) -> list[int]:
    """For torch's pad, which begins with the last axis and cuts where a margin is negative."""
    if dims == 1:
        pairs = [[value, value] if isinstance(value, int) else list(value)]
    else:
        items = [value] * dims if isinstance(value, int) else list(value)
        pairs = [[item, item] if isinstance(item, int) else list(item) for item in items]
    return [sign * size for pair in reversed(pairs) for size in pair]


@layer(*over_axes("ZeroPadding*"))
def _zero_padding(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])
    return back(p, functional.pad(x, _margins(p, p["padding"], x.dim() - 2, 1)))


@layer(*over_axes("Cropping*"))
def _cropping(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])
    return back(p, functional.pad(x, _margins(p, p["cropping"], x.dim() - 2, -1)))


@layer("CenterCrop")
def _center(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])
    if x.shape[2] < p["height"] or x.shape[3] < p["width"]:
        return back(p, _resized(_window(x, p["height"] / p["width"]), (p["height"], p["width"]), "bilinear"))
    for axis, size in ((2, p["height"]), (3, p["width"])):
        x = x.narrow(axis, (x.shape[axis] - size) // 2, size)
    return back(p, x)


def _resized(x: Tensor, size: tuple[int, ...], interpolation: str) -> Tensor:
    if interpolation == "nearest":
        return functional.interpolate(x, size, mode="nearest-exact")
    return functional.interpolate(x, size, mode="bilinear", align_corners=False)


def _window(x: Tensor, ratio: float) -> Tensor:
    """The largest part around the middle that is as high, by its width, as wanted."""
    height, width = x.shape[2:]
    rows = max(1, min(height, math.floor(width * ratio + 1e-9)))
    columns = max(1, min(width, math.floor(height / ratio + 1e-9)))
    return x.narrow(2, (height - rows) // 2, rows).narrow(3, (width - columns) // 2, columns)


def _framed(x: Tensor, ratio: float, value: float) -> Tensor:
    height, width = x.shape[2:]
    above = max(math.floor(width * ratio + 1e-9) - height, 0) // 2
    beside = max(math.floor(height / ratio + 1e-9) - width, 0) // 2
    return functional.pad(x, (beside, beside, above, above), value=value)


def _filtered(x: Tensor, axis: int, count: int, name: str, antialias: bool) -> Tensor:
    """A matrix of weights: of these kernels torch has another one, or none."""
    size = x.shape[axis]
    wide = max(size / count, 1.0) if antialias else 1.0
    centres = (torch.arange(count, dtype=torch.float64) + 0.5) * size / count - 0.5
    away = ((torch.arange(size, dtype=torch.float64)[None] - centres[:, None]) / wide).abs()
    if name == "bicubic":
        inner = 1.5 * away**3 - 2.5 * away**2 + 1.0
        outer = -0.5 * away**3 + 2.5 * away**2 - 4.0 * away + 2.0
        kernel = inner.where(away <= 1.0, outer.where(away < 2.0, torch.zeros_like(away)))
    else:
        radius = int(name.removeprefix("lanczos"))
        kernel = (torch.sinc(away) * torch.sinc(away / radius)).where(away < radius, torch.zeros_like(away))
    kernel = kernel / kernel.sum(1, keepdim=True)
    return torch.tensordot(x, kernel, ([axis], [1])).movedim(-1, axis)


@layer("Resizing")
def _resizing(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x, size, name = first(p, inputs[0]), (p["height"], p["width"]), p["interpolation"]
    if p["crop_to_aspect_ratio"]:
        x = _window(x, size[0] / size[1])
    if p["pad_to_aspect_ratio"]:
        x = _framed(x, size[0] / size[1], p["fill_value"])
    if name in ("bicubic", "lanczos3", "lanczos5"):
        return back(p, _filtered(_filtered(x, 2, size[0], name, p["antialias"]), 3, size[1], name, p["antialias"]))
    if name == "bilinear" and p["antialias"]:
        return back(p, functional.interpolate(x, size, mode="bilinear", align_corners=False, antialias=True))
    return back(p, _resized(x, size, name))


@layer(*over_axes("UpSampling*"))
def _up(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])
    factors = sizes(p["size"], x.dim() - 2)
    target = tuple(size * factor for size, factor in zip(x.shape[2:], factors, strict=True))
    name = p.get("interpolation", "nearest")
    if name in ("bicubic", "lanczos3", "lanczos5"):
        return back(p, _filtered(_filtered(x, 2, target[0], name, False), 3, target[1], name, False))
    return back(p, _resized(x, target, name))


# STFTSpectrogram


@layer("STFTSpectrogram")
def _spectrogram(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = first(p, inputs[0])  # batch, channels, time
    step = max(1, p["frame_length"] // 2) if p["frame_step"] is None else p["frame_step"]
    flat = x.reshape(-1, 1, x.shape[-1])
    parts = {
        name: convolved(p, flat, turned(kernel), strides=step, dilation_rate=1) for name, kernel in weights.items()
    }
    found = _spectrum(p["mode"], parts.get("real_kernel"), parts.get("imag_kernel"))
    found = found.reshape(*x.shape[:2], *found.shape[1:])  # batch, channels, frequencies, steps
    if p["expand_dims"]:
        found = found.movedim(2, 3)
        return found if p["data_format"] == "channels_first" else found.movedim(1, 3)
    return back(p, found.flatten(1, 2))


def _spectrum(mode: str, real: Any, imaginary: Any) -> Tensor:
    if mode in ("real", "imag"):
        return real if mode == "real" else imaginary
    if mode == "stft":
        return torch.cat([real, imaginary], dim=1)
    power = real.square() + imaginary.square()
    if mode == "psd":
        return torch.cat([power[:, :1], 2.0 * power[:, 1:-1], power[:, -1:]], dim=1)
    magnitude = power.clamp(min=1e-7).sqrt()
    return magnitude if mode == "magnitude" else magnitude.clamp(min=1e-7).log()
