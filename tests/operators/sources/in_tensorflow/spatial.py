"""Convolutions, pooling, margins: TensorFlow has channels last and its own paddings, which Keras took over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from .functions import ACTIVATIONS
from .registry import Params, Tensor, Weights, layer, over_axes, sizes

#: By the number of spatial axes. Without it, some of its gradients raise.
FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def last(p: Params, x: Tensor) -> Tensor:
    """Channels last, whatever the layer's data format."""
    rank = len(x.shape)
    return tf.transpose(x, [0, *range(2, rank), 1]) if p.get("data_format") == "channels_first" else x


def back(p: Params, x: Tensor) -> Tensor:
    rank = len(x.shape)
    return tf.transpose(x, [0, rank - 1, *range(1, rank - 1)]) if p.get("data_format") == "channels_first" else x


def convolved(p: Params, x: Tensor, kernel: Tensor, **changed: Any) -> Tensor:
    """``tf.nn.convolution`` with its own SAME; only the causal zeros are put in by hand."""
    p = {**p, **changed}
    dims = len(x.shape) - 2
    strides, apart, padding = sizes(p["strides"], dims), sizes(p["dilation_rate"], dims), p["padding"].upper()
    if padding == "CAUSAL":
        x, padding = tf.pad(x, [[0, 0], [(kernel.shape[0] - 1) * apart[0], 0], [0, 0]]), "VALID"
    if dims == 3 and padding == "SAME":  # its own begins in the middle where the window is shorter than the stride
        x, padding = tf.pad(x, _same(x, kernel, strides, apart)), "VALID"
    return tf.nn.convolution(x, kernel, strides, padding, FORMATS[dims], apart)


def _same(x: Tensor, kernel: Tensor, strides: Sequence[int], apart: Sequence[int]) -> list[list[int]]:
    margins = []
    for size, window, stride, gap in zip(x.shape[1:-1], kernel.shape, strides, apart, strict=False):
        total = max((-(-size // stride) - 1) * stride + (window - 1) * gap + 1 - size, 0)
        margins.append([total // 2, total - total // 2])
    return [[0, 0], *margins, [0, 0]]


def finish(p: Params, x: Tensor, weights: Weights) -> Tensor:
    x = tf.nn.bias_add(x, weights["bias"]) if "bias" in weights else x
    return ACTIVATIONS[p["activation"]](back(p, x))


@layer(*over_axes("Conv*"))
def _conv(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    parts = zip(
        tf.split(last(p, inputs[0]), p["groups"], axis=-1),
        tf.split(weights["kernel"], p["groups"], axis=-1),
        strict=True,
    )
    return finish(p, tf.concat([convolved(p, x, kernel) for x, kernel in parts], axis=-1), weights)


def _depthwise(p: Params, x: Tensor, kernel: Tensor) -> Tensor:
    """``tf.nn.depthwise_conv2d`` has equal strides only: with others, every position of stride one is thinned out."""
    if len(kernel.shape) == 3:
        widened = {**p, "strides": sizes(p["strides"], 1) * 2, "dilation_rate": [1, *sizes(p["dilation_rate"], 1)]}
        return _depthwise_row(widened, x, kernel)
    strides, apart = sizes(p["strides"], 2), sizes(p["dilation_rate"], 2)
    if strides[0] == strides[1]:
        return tf.nn.depthwise_conv2d(x, kernel, [1, *strides, 1], p["padding"].upper(), dilations=apart)
    channels = range(x.shape[-1])
    each = [convolved(p, x[..., c : c + 1], kernel[:, :, c : c + 1, :]) for c in channels]
    return tf.concat(each, axis=-1)


def _depthwise_row(p: Params, x: Tensor, kernel: Tensor) -> Tensor:
    """One axis as two of which the first has size 1: whatever its stride, one row is left."""
    stride = p["strides"][0]
    found = tf.nn.depthwise_conv2d(
        x[:, None], kernel[None], [1, stride, stride, 1], p["padding"].upper(), dilations=p["dilation_rate"]
    )
    return found[:, 0]


@layer(*over_axes("DepthwiseConv*", (1, 2)))
def _depthwise_conv(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return finish(p, _depthwise(p, last(p, inputs[0]), weights["kernel"]), weights)


@layer(*over_axes("SeparableConv*", (1, 2)))
def _separable(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    inner = _depthwise(p, last(p, inputs[0]), weights["depthwise_kernel"])
    dims = len(inner.shape) - 2
    mixing = tf.reshape(weights["pointwise_kernel"], weights["pointwise_kernel"].shape[dims:])
    return finish(p, tf.tensordot(inner, mixing, 1), weights)


@layer(*over_axes("Conv*Transpose"))
def _transposed(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """The gradient of the convolution that the layer undoes, with respect to its input, with ``x`` as cotangent."""
    x, kernel = last(p, inputs[0]), weights["kernel"]
    dims = len(x.shape) - 2
    strides, apart = sizes(p["strides"], dims), sizes(p["dilation_rate"], dims)
    lengths, margins = [], []
    for axis in range(dims):
        extra = None if p["output_padding"] is None else sizes(p["output_padding"], dims)[axis]
        span = (kernel.shape[axis] - 1) * apart[axis] + 1
        length = _length(p["padding"], x.shape[axis + 1], span, strides[axis], extra)
        lengths.append(length)
        short = max((x.shape[axis + 1] - 1) * strides[axis] + span - length, 0) if p["padding"] == "same" else 0
        margins.append([short // 2, short - short // 2])

    def forward(image: Tensor) -> Tensor:
        found = tf.pad(image, [[0, 0], *margins, [0, 0]])
        found = tf.nn.convolution(found, kernel, strides, "VALID", FORMATS[dims], apart)
        return found[(slice(None), *(slice(size) for size in x.shape[1:-1]))]

    image = tf.zeros([x.shape[0], *lengths, kernel.shape[-2]], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(image)
        found = forward(image)
    return finish(p, tape.gradient(found, image, x), weights)


def _length(padding: str, size: int, span: int, stride: int, extra: int | None) -> int:
    """The sizes Keras documents: without output_padding the smallest that a convolution takes to ``size``."""
    if padding == "same":
        return size * stride if extra is None else (size - 1) * stride + span % 2 + extra
    return (size - 1) * stride + (max(span, stride) if extra is None else span + extra)


# Pooling


def _windows(p: Params, x: Tensor) -> tuple[list[int], list[int]]:
    window = sizes(p["pool_size"], len(x.shape) - 2)
    return window, window if p["strides"] is None else sizes(p["strides"], len(window))


@layer(*over_axes("MaxPooling*"))
def _max(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return back(p, _pooled(p, last(p, inputs[0]), (tf.nn.max_pool1d, tf.nn.max_pool2d)))


def _pooled(p: Params, x: Tensor, pools: Any) -> Tensor:
    """Over three axes there is no kernel for float64: then one axis after the other."""
    window, strides = _windows(p, x)
    if len(window) < 3:
        return pools[len(window) - 1](x, window, strides, p["padding"].upper())
    for axis, (size, stride) in enumerate(zip(window, strides, strict=True), start=1):
        x = _along(x, axis, lambda rows, k=size, s=stride: pools[0](rows, k, s, p["padding"].upper()))
    return x


def _along(x: Tensor, axis: int, pool: Any) -> Tensor:
    """``pool`` of (batch, length, channels) applied to one axis."""
    rank = len(x.shape)
    order = [index for index in range(rank) if index not in (axis, rank - 1)] + [axis, rank - 1]
    turned = tf.transpose(x, order)
    found = pool(tf.reshape(turned, [-1, *turned.shape[-2:]]))
    found = tf.reshape(found, [*turned.shape[:-2], *found.shape[1:]])
    return tf.transpose(found, [order.index(index) for index in range(rank)])


@layer(*over_axes("AveragePooling*"))
def _average(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return back(p, _pooled(p, last(p, inputs[0]), (tf.nn.avg_pool1d, tf.nn.avg_pool2d)))


def _over_all(p: Params, x: Tensor, reduce: Any) -> Tensor:
    x = last(p, x)
    found = reduce(x, axis=list(range(1, len(x.shape) - 1)), keepdims=p["keepdims"])
    return back(p, found) if p["keepdims"] else found


@layer(*over_axes("GlobalAveragePooling*"))
def _global_average(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return _over_all(p, inputs[0], tf.reduce_mean)


@layer(*over_axes("GlobalMaxPooling*"))
def _global_max(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return _over_all(p, inputs[0], tf.reduce_max)


def _binned(p: Params, x: Tensor, reduce: Any) -> Tensor:
    """Bin i of n covers the cells that [i size / n, (i + 1) size / n) touches; one axis after the other."""
    x = last(p, x)
    for axis, count in enumerate(sizes(p["output_size"], len(x.shape) - 2), start=1):
        size, parts = x.shape[axis], []
        for index in range(count):
            touched = [c for c in range(size) if (c + 1) * count > index * size and c * count < (index + 1) * size]
            parts.append(reduce(tf.gather(x, touched, axis=axis), axis=axis))
        x = tf.stack(parts, axis=axis)
    return back(p, x)


@layer(*over_axes("AdaptiveAveragePooling*"))
def _adaptive_average(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return _binned(p, inputs[0], tf.reduce_mean)


@layer(*over_axes("AdaptiveMaxPooling*"))
def _adaptive_max(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return _binned(p, inputs[0], tf.reduce_max)


# Margins and sizes


def _pairs(value: Any, dims: int) -> list[Sequence[int]]:
    items = [value] * dims if isinstance(value, int) or dims == 1 else value
    return [(item, item) if isinstance(item, int) else item for item in items]


@layer(*over_axes("ZeroPadding*"))
def _zero_padding(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = last(p, inputs[0])
    return back(p, tf.pad(x, [[0, 0], *map(list, _pairs(p["padding"], len(x.shape) - 2)), [0, 0]]))


@layer(*over_axes("Cropping*"))
def _cropping(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = last(p, inputs[0])
    pairs = _pairs(p["cropping"], len(x.shape) - 2)
    begin = [0, *(before for before, _ in pairs), 0]
    size = [size - sum(pair) for size, pair in zip(x.shape, [(0, 0), *pairs, (0, 0)], strict=True)]
    return back(p, tf.slice(x, begin, size))


@layer("CenterCrop")
def _center(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = last(p, inputs[0])
    if x.shape[1] < p["height"] or x.shape[2] < p["width"]:
        x = _central(x, p["height"], p["width"])
        return back(p, _blended(_blended(x, 1, p["height"], False), 2, p["width"], False))
    top, left = (x.shape[1] - p["height"]) // 2, (x.shape[2] - p["width"]) // 2
    return back(p, tf.image.crop_to_bounding_box(x, top, left, p["height"], p["width"]))


def _blended(x: Tensor, axis: int, count: int, nearest: bool) -> Tensor:
    """A matrix of weights for each output: TensorFlow's own resizing answers in float32."""
    size = x.shape[axis]
    centres = (tf.range(count, dtype=tf.float64) + 0.5) * size / count - 0.5
    centres = tf.clip_by_value(centres, tf.constant(0.0, tf.float64), tf.constant(size - 1.0, tf.float64))
    if nearest:
        return tf.gather(x, [((2 * index + 1) * size) // (2 * count) for index in range(count)], axis=axis)
    hats = tf.nn.relu(1.0 - tf.abs(centres[:, None] - tf.range(size, dtype=tf.float64)[None]))
    rest = "".join(chr(ord("a") + index) for index in range(len(x.shape)))
    return tf.einsum(f"{rest},z{rest[axis]}->{rest.replace(rest[axis], 'z')}", x, hats)


def _central(x: Tensor, height: int, width: int) -> Tensor:
    """As much of the image around its middle as has the aspect ratio of height and width."""
    rows = max(min(x.shape[1], x.shape[2] * height // width), 1)
    columns = max(min(x.shape[2], x.shape[1] * width // height), 1)
    top, left = (x.shape[1] - rows) // 2, (x.shape[2] - columns) // 2
    return tf.image.crop_to_bounding_box(x, top, left, rows, columns)


def _surrounded(x: Tensor, height: int, width: int, value: float) -> Tensor:
    rows = max(x.shape[2] * height // width - x.shape[1], 0) // 2
    columns = max(x.shape[1] * width // height - x.shape[2], 0) // 2
    return tf.pad(x, [[0, 0], [rows, rows], [columns, columns], [0, 0]], constant_values=value)


def _sinc(x: Tensor) -> Tensor:
    safe = tf.where(x == 0.0, tf.ones_like(x), x) * math.pi
    return tf.where(x == 0.0, tf.ones_like(x), tf.sin(safe) / safe)


def _weighed(x: Tensor, axis: int, count: int, name: str, antialias: bool) -> Tensor:
    size = x.shape[axis]
    centres = (tf.range(count, dtype=tf.float64) + 0.5) * size / count - 0.5
    away = tf.abs(centres[:, None] - tf.range(size, dtype=tf.float64)[None])
    away = away / (max(size / count, 1.0) if antialias else 1.0)
    zero = tf.zeros_like(away)
    if name == "bilinear":
        kernel = tf.nn.relu(1.0 - away)
    elif name == "bicubic":
        outer = tf.where(away < 2.0, -0.5 * away**3 + 2.5 * away**2 - 4.0 * away + 2.0, zero)
        kernel = tf.where(away <= 1.0, 1.5 * away**3 - 2.5 * away**2 + 1.0, outer)
    else:
        radius = float(name[-1])
        kernel = tf.where(away < radius, _sinc(away) * _sinc(away / radius), zero)
    kernel = kernel / tf.reduce_sum(kernel, axis=1, keepdims=True)
    rest = "".join(chr(ord("a") + index) for index in range(len(x.shape)))
    return tf.einsum(f"{rest},z{rest[axis]}->{rest.replace(rest[axis], 'z')}", x, kernel)


@layer("Resizing")
def _resizing(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x, nearest = last(p, inputs[0]), p["interpolation"] == "nearest"
    if p["crop_to_aspect_ratio"]:
        x = _central(x, p["height"], p["width"])
    if p["pad_to_aspect_ratio"]:
        x = _surrounded(x, p["height"], p["width"], p["fill_value"])
    if not nearest and (p["interpolation"] != "bilinear" or p["antialias"]):
        rows = _weighed(x, 1, p["height"], p["interpolation"], p["antialias"])
        return back(p, _weighed(rows, 2, p["width"], p["interpolation"], p["antialias"]))
    return back(p, _blended(_blended(x, 1, p["height"], nearest), 2, p["width"], nearest))


@layer(*over_axes("UpSampling*"))
def _up(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = last(p, inputs[0])
    for axis, factor in enumerate(sizes(p["size"], len(x.shape) - 2), start=1):
        how, target = p.get("interpolation", "nearest"), x.shape[axis] * factor
        if how == "nearest":
            x = tf.repeat(x, factor, axis=axis)
        else:
            x = _blended(x, axis, target, False) if how == "bilinear" else _weighed(x, axis, target, how, False)
    return back(p, x)


# STFTSpectrogram


@layer("STFTSpectrogram")
def _spectrogram(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Frames side by side, times the kernels."""
    x = last(p, inputs[0])
    length = p["frame_length"]
    step = max(1, length // 2) if p["frame_step"] is None else p["frame_step"]
    signal = tf.transpose(x, [0, 2, 1])
    if p["padding"] == "same":
        missing = max((-(-x.shape[1] // step) - 1) * step + length - x.shape[1], 0)
        signal = tf.pad(signal, [[0, 0], [0, 0], [missing // 2, missing - missing // 2]])
    frames = tf.signal.frame(signal, length, step)  # batch, channels, steps, length
    parts = [tf.tensordot(frames, kernel[:, 0], 1) for kernel in weights.values()]
    return _arranged(p, _spectrum(p["mode"], parts))


def _spectrum(mode: str, parts: list[Tensor]) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    if mode == "stft":
        return tf.concat(parts, axis=-1)
    power = tf.add_n([tf.square(part) for part in parts])
    if mode == "psd":
        twice = [1.0] + [2.0] * (power.shape[-1] - 2) + [1.0]
        return power * tf.constant(twice, tf.float64)
    magnitude = tf.sqrt(tf.maximum(power, tf.constant(1e-7, tf.float64)))
    return magnitude if mode == "magnitude" else tf.math.log(tf.maximum(magnitude, tf.constant(1e-7, tf.float64)))


def _arranged(p: Params, x: Tensor) -> Tensor:
    """From (batch, channels, steps, frequencies)."""
    first = p["data_format"] == "channels_first"
    if p["expand_dims"]:
        return x if first else tf.transpose(x, [0, 2, 3, 1])
    joined = tf.transpose(x, [0, 2, 1, 3])
    joined = tf.reshape(joined, [*joined.shape[:2], -1])
    return tf.transpose(joined, [0, 2, 1]) if first else joined
