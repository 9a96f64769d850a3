"""Layers that look through windows, written out once more as loops over places, on parameters drawn at random.

The loops are slow, and of another making than the references: each takes parameters with their defaults, inputs and
weights in float64, and gives the outputs.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.operators.functions import named_activations
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import exact

Params = Mapping[str, Any]
Weights = Mapping[str, Array]
Naive = Callable[[Params, Sequence[Array], Weights], list[Array]]


def bent(name: object, x: Array) -> Array:
    """An activation by name; ``test_functions.py`` has them by hand."""
    return named_activations.apply(name, exact(x)).value


def cells(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def each(value: Any, count: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def is_first(params: Params) -> bool:
    return params.get("data_format") == "channels_first"


def last(params: Params, x: Array) -> Array:
    return np.moveaxis(x, 1, -1) if is_first(params) else x


def back(params: Params, x: Array) -> Array:
    return np.moveaxis(x, -1, 1) if is_first(params) else x


# Windows


def pads(size: int, window: int, stride: int, dilation: int, padding: str) -> tuple[int, int]:
    """Zeros before and after: the least that give ceil(size / stride) places, the odd one at the end."""
    reach = (window - 1) * dilation + 1
    if padding == "valid":
        return 0, 0
    if padding == "causal":
        return reach - 1, 0
    total = 0
    while len(range(0, size + total - reach + 1, stride)) < len(range(0, size, stride)):
        total += 1
    return total // 2, total - total // 2


def windows(
    x: Array, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int], padding: str
) -> Iterator[tuple[tuple[int, ...], list[tuple[tuple[int, ...], Array]]]]:
    """Per place of the output, what is seen inside of the input (channels last): offset and values of the batch."""
    around = [pads(*item, padding) for item in zip(x.shape[1:-1], size, stride, dilation, strict=True)]
    counts = [
        len(range(0, n + sum(pad) - (k - 1) * d, s))
        for n, k, s, d, pad in zip(x.shape[1:-1], size, stride, dilation, around, strict=True)
    ]
    for place in cells(counts):
        seen = []
        for offset in cells(size):
            at = tuple(
                p * s + o * d - pad[0] for p, s, o, d, pad in zip(place, stride, offset, dilation, around, strict=True)
            )
            if all(0 <= a < n for a, n in zip(at, x.shape[1:-1], strict=True)):
                seen.append((offset, x[(slice(None), *at)]))
        yield place, seen


def gathered(found: Mapping[tuple[int, ...], Array]) -> Array:
    """Arrays (batch, channels) by place as one (batch, places..., channels)."""
    counts = tuple(top + 1 for top in max(found))
    batch, channels = next(iter(found.values())).shape
    whole = np.empty((batch, *counts, channels))
    for place, values in found.items():
        whole[(slice(None), *place)] = values
    return whole


def _convolved(params: Params, x: Array, kernel: Array, **changed: Any) -> Array:
    """Channels last, without bias; the kernel is (sizes..., in, out)."""
    given = {**params, **changed}
    dims = x.ndim - 2
    options = [each(given[name], dims) for name in ("kernel_size", "strides", "dilation_rate")]
    groups = given.get("groups", 1)
    wide, deep = x.shape[-1] // groups, kernel.shape[-1] // groups
    found = {}
    for place, seen in windows(x, *options, given["padding"]):
        total = np.zeros((x.shape[0], kernel.shape[-1]))
        for offset, values in seen:
            for group in range(groups):
                ins, outs = slice(group * wide, (group + 1) * wide), slice(group * deep, (group + 1) * deep)
                total[:, outs] += values[:, ins] @ kernel[offset][:, outs]
        found[place] = total
    return gathered(found)


def _finished(params: Params, x: Array, weights: Weights) -> list[Array]:
    return [bent(params["activation"], back(params, x + weights["bias"] if params["use_bias"] else x))]


def conv(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    return _finished(params, _convolved(params, last(params, inputs[0]), weights["kernel"]), weights)


def _depthwise(params: Params, x: Array, kernel: Array) -> Array:
    channels, times = kernel.shape[-2:]
    parts = [
        _convolved({**params, "groups": 1}, x[..., c : c + 1], kernel[..., c : c + 1, m : m + 1])
        for c in range(channels)
        for m in range(times)
    ]
    return np.concatenate(parts, axis=-1)


def depthwise(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    return _finished(params, _depthwise(params, last(params, inputs[0]), weights["kernel"]), weights)


def separable(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    inner = _depthwise(params, last(params, inputs[0]), weights["depthwise_kernel"])
    mixing = weights["pointwise_kernel"].reshape(inner.shape[-1], -1)
    mixed = sum(inner[..., c, None] * mixing[c] for c in range(inner.shape[-1]))
    return _finished(params, np.asarray(mixed), weights)


def transposed(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    """The adjoint of the convolution that takes the output's size to the input's; kernel (sizes..., out, in)."""
    x, kernel = last(params, inputs[0]), weights["kernel"]
    dims = x.ndim - 2
    size, stride, dilation = (each(params[name], dims) for name in ("kernel_size", "strides", "dilation_rate"))
    extra = (None,) * dims if params["output_padding"] is None else each(params["output_padding"], dims)
    lengths, starts = [], []
    for n, k, s, d, e in zip(x.shape[1:-1], size, stride, dilation, extra, strict=True):
        reach, spread = (k - 1) * d + 1, (n - 1) * s + (k - 1) * d + 1
        if params["padding"] == "valid":
            lengths.append(n * s + max(reach - s, 0) if e is None else spread + e)
            starts.append(0)
        else:
            lengths.append(n * s if e is None else (n - 1) * s + reach - 2 * (reach // 2) + e)
            starts.append(max(spread - lengths[-1], 0) // 2)
    found = np.zeros((x.shape[0], *lengths, kernel.shape[-2]))
    for at in cells(x.shape[1:-1]):
        for offset in cells(size):
            where = tuple(
                a * s + o * d - start for a, s, o, d, start in zip(at, stride, offset, dilation, starts, strict=True)
            )
            if all(0 <= w < n for w, n in zip(where, lengths, strict=True)):
                found[(slice(None), *where)] += x[(slice(None), *at)] @ kernel[offset].T
    return _finished(params, found, weights)


def conv_lstm(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    own = {name.rpartition("/")[2]: weight for name, weight in weights.items()}
    gate, curve = params["recurrent_activation"], params["activation"]
    x, hidden, carry, outputs = inputs[0], None, None, []
    for index in range(x.shape[1])[:: -1 if params["go_backwards"] else 1]:
        sums = _convolved(params, last(params, x[:, index]), own["kernel"]) + own.get("bias", 0.0)
        filters = sums.shape[-1] // 4
        if hidden is not None:
            sums = sums + _convolved(
                params, hidden, own["recurrent_kernel"], strides=1, dilation_rate=1, padding="same"
            )
        i, f, g, o = (sums[..., part * filters : (part + 1) * filters] for part in range(4))
        kept = 0.0 if carry is None else bent(gate, f) * carry
        carry = kept + bent(gate, i) * bent(curve, g)
        hidden = bent(gate, o) * bent(curve, carry)
        outputs.append(back(params, hidden))
    first = np.stack(outputs, axis=1) if params["return_sequences"] else outputs[-1]
    return [first, outputs[-1], back(params, carry)] if params["return_state"] else [first]


def _pooled(pool: Callable[[Array], Array]) -> Naive:
    def run(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
        x = last(params, inputs[0])
        size = each(params["pool_size"], x.ndim - 2)
        stride = size if params["strides"] is None else each(params["strides"], x.ndim - 2)
        places = windows(x, size, stride, (1,) * (x.ndim - 2), params["padding"])
        return [back(params, gathered({at: pool(np.stack([values for _, values in seen])) for at, seen in places}))]

    return run


def _over_everything(pool: Callable[[Array], Array]) -> Naive:
    def run(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
        x = last(params, inputs[0])
        found = pool(np.stack([x[(slice(None), *at)] for at in cells(x.shape[1:-1])]))
        if params["keepdims"]:
            found = back(params, found.reshape(len(x), *(1,) * (x.ndim - 2), -1))
        return [found]

    return run


def _adaptive(pool: Callable[[Array], Array]) -> Naive:
    def run(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
        x = last(params, inputs[0])
        counts = each(params["output_size"], x.ndim - 2)
        found = {}
        for place in cells(counts):
            bins = [
                range(math.floor(i * n / count), math.ceil((i + 1) * n / count))
                for i, n, count in zip(place, x.shape[1:-1], counts, strict=True)
            ]
            found[place] = pool(np.stack([x[(slice(None), *at)] for at in itertools.product(*bins)]))
        return [back(params, gathered(found))]

    return run


def largest(seen: Array) -> Array:
    return np.asarray([[max(column) for column in row] for row in np.moveaxis(seen, 0, -1)])


def average(seen: Array) -> Array:
    return np.asarray([[math.fsum(column) / len(column) for column in row] for row in np.moveaxis(seen, 0, -1)])


# Places


def _sampled(x: Array, axis: int, count: int, nearest: bool) -> Array:
    """Output i at (i + 1/2) size / count - 1/2, ends held: the nearest entry, or between two of them."""
    size = x.shape[axis]
    parts = []
    for i in range(count):
        at = min(max((i + 0.5) * size / count - 0.5, 0.0), size - 1.0)
        low = math.floor(((2 * i + 1) * size) / (2 * count)) if nearest else math.floor(at)
        share = 0.0 if nearest else at - low
        parts.append((1 - share) * x.take(low, axis) + share * x.take(min(low + 1, size - 1), axis))
    return np.stack(parts, axis=axis)


def up_sampling(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = last(params, inputs[0])
    for axis, factor in enumerate(each(params["size"], x.ndim - 2), start=1):
        how, target = params.get("interpolation", "nearest"), x.shape[axis] * factor
        x = _sampled(x, axis, target, True) if how == "nearest" else _filtered(x, axis, target, how, False)
    return [back(params, x)]


def _kernel(name: str, away: float) -> float:
    if name == "bilinear":
        return max(1.0 - abs(away), 0.0)
    if name == "bicubic":
        x = abs(away)
        return 1.5 * x**3 - 2.5 * x**2 + 1 if x <= 1 else -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0
    radius = int(name[-1])
    if away == 0.0 or abs(away) >= radius:
        return float(away == 0.0)
    angle = math.pi * away
    return radius * math.sin(angle) * math.sin(angle / radius) / angle**2


def _filtered(x: Array, axis: int, count: int, name: str, antialias: bool) -> Array:
    size = x.shape[axis]
    wide = max(size / count, 1.0) if antialias else 1.0
    parts = []
    for i in range(count):
        at = (i + 0.5) * size / count - 0.5
        shares = [_kernel(name, (j - at) / wide) for j in range(size)]
        parts.append(sum(share / math.fsum(shares) * x.take(j, axis) for j, share in enumerate(shares)))
    return np.stack(parts, axis=axis)


def _in_ratio(params: Params, x: Array) -> Array:
    """Rows or columns taken away, or added, while the image is wider or higher than the one wanted."""
    high, wide = params["height"], params["width"]
    rows, columns = x.shape[1], x.shape[2]
    if params.get("crop_to_aspect_ratio", True):
        while rows > 1 and rows * wide > columns * high:
            rows -= 1
        while columns > 1 and columns * high > x.shape[1] * wide:
            columns -= 1
        top, left = (x.shape[1] - rows) // 2, (x.shape[2] - columns) // 2
        return x[:, top : top + rows, left : left + columns]
    while (rows + 1) * wide <= columns * high:
        rows += 1
    while (columns + 1) * high <= x.shape[1] * wide:
        columns += 1
    for axis, more in ((1, rows - x.shape[1]), (2, columns - x.shape[2])):
        edge = np.full_like(x.take([0], axis), params["fill_value"])
        x = np.concatenate([edge] * (more // 2) + [x] + [edge] * (more // 2), axis)
    return x


def resizing(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = last(params, inputs[0])
    if params["crop_to_aspect_ratio"] or params["pad_to_aspect_ratio"]:
        x = _in_ratio(params, x)
    how = params["interpolation"]
    for axis, name in ((1, "height"), (2, "width")):
        if how == "nearest":
            x = _sampled(x, axis, params[name], True)
        else:
            x = _filtered(x, axis, params[name], how, params["antialias"])
    return [back(params, x)]


def center_crop(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = last(params, inputs[0])
    if x.shape[1] < params["height"] or x.shape[2] < params["width"]:
        x = _sampled(_in_ratio(params, x), 1, params["height"], False)
        return [back(params, _sampled(x, 2, params["width"], False))]
    for axis, name in ((1, "height"), (2, "width")):
        while x.shape[axis] > params[name]:  # the end first, then the beginning
            spare = x.shape[axis] - params[name]
            x = np.delete(x, -1 if spare % 2 else 0, axis)
    return [back(params, x)]


def _around(params: Params, name: str, dims: int) -> list[tuple[int, int]]:
    value = params[name]
    if dims == 1:
        value = (value,)
    return [each(item, 2) for item in each(value, dims)]  # type: ignore[misc]


def zero_padding(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = last(params, inputs[0])
    for axis, (before, after) in enumerate(_around(params, "padding", x.ndim - 2), start=1):
        zeros = np.zeros_like(x.take([0], axis))
        x = np.concatenate([zeros] * before + [x] + [zeros] * after, axis)
    return [back(params, x)]


def cropping(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = last(params, inputs[0])
    for axis, (before, after) in enumerate(_around(params, "cropping", x.ndim - 2), start=1):
        x = x.take(range(before, x.shape[axis] - after), axis)
    return [back(params, x)]


def spectrogram(params: Params, inputs: Sequence[Array], weights: Weights) -> list[Array]:
    x = last(params, inputs[0])  # batch, time, channels
    length = params["frame_length"]
    step = params["frame_step"] or max(1, length // 2)
    channels = []
    for c in range(x.shape[-1]):
        parts = {}
        for name, kernel in weights.items():
            options = {"kernel_size": length, "strides": step, "dilation_rate": 1, "padding": params["padding"]}
            parts[name] = _convolved(options, x[..., c : c + 1], kernel)
        channels.append(_mode(params["mode"], parts.get("real_kernel"), parts.get("imag_kernel")))
    found = np.stack(channels, axis=1)  # batch, channels, steps, frequencies
    if params["expand_dims"]:
        return [found if is_first(params) else np.moveaxis(found, 1, -1)]
    joined = np.concatenate([np.swapaxes(found[:, c], 1, 2) for c in range(found.shape[1])], axis=1)
    return [joined if is_first(params) else np.swapaxes(joined, 1, 2)]


def _mode(mode: str, real: Array | None, imaginary: Array | None) -> Array:
    if real is None or imaginary is None:
        return imaginary if real is None else real  # type: ignore[return-value]
    if mode == "stft":
        return np.concatenate([real, imaginary], axis=-1)
    power = real * real + imaginary * imaginary
    if mode == "psd":
        return np.concatenate([power[..., :1], 2 * power[..., 1:-1], power[..., -1:]], axis=-1)
    magnitude = np.sqrt(np.where(power < 1e-7, 1e-7, power))
    return magnitude if mode == "magnitude" else np.log(magnitude)


NAIVE: dict[str, Naive] = {
    **{f"Conv{dims}D": conv for dims in (1, 2, 3)},
    **{f"Conv{dims}DTranspose": transposed for dims in (1, 2, 3)},
    **{f"DepthwiseConv{dims}D": depthwise for dims in (1, 2)},
    **{f"SeparableConv{dims}D": separable for dims in (1, 2)},
    **{f"ConvLSTM{dims}D": conv_lstm for dims in (1, 2, 3)},
    **{f"MaxPooling{dims}D": _pooled(largest) for dims in (1, 2, 3)},
    **{f"AveragePooling{dims}D": _pooled(average) for dims in (1, 2, 3)},
    **{f"GlobalMaxPooling{dims}D": _over_everything(largest) for dims in (1, 2, 3)},
    **{f"GlobalAveragePooling{dims}D": _over_everything(average) for dims in (1, 2, 3)},
    **{f"AdaptiveMaxPooling{dims}D": _adaptive(largest) for dims in (1, 2, 3)},
    **{f"AdaptiveAveragePooling{dims}D": _adaptive(lambda seen: np.mean(seen, 0)) for dims in (1, 2, 3)},
    **{f"UpSampling{dims}D": up_sampling for dims in (1, 2, 3)},
    **{f"ZeroPadding{dims}D": zero_padding for dims in (1, 2, 3)},
    **{f"Cropping{dims}D": cropping for dims in (1, 2, 3)},
    "Resizing": resizing,
    "CenterCrop": center_crop,
    "STFTSpectrogram": spectrogram,
}

#: How many examples, by the number of spatial axes: more axes are slower in loops.
DRAWS = {"1D": 24, "2D": 16, "3D": 8}


@pytest.mark.parametrize("name", sorted(NAIVE))
def test_the_reference_against_loops(name, draw_example):
    for seed in range(next((count for dims, count in DRAWS.items() if dims in name), 16)):
        example = draw_example(name, np.random.default_rng([seed, zlib.crc32(name.encode())]))
        found = evaluate_node(example.node, example.inputs, example.weights)
        weights = {key.removeprefix("layer/"): weight.astype(float) for key, weight in example.weights.items()}
        expected = NAIVE[name](example.params, [x.astype(float) for x in example.inputs], weights)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                one.value, other, rtol=1e-9, atol=1e-11, err_msg=str(example.params), strict=True
            )
