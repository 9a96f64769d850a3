"""Pooling in one to three dimensions, and resizing. ``pooling`` is the paper's: the maximum in two dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..reference.rounding import growth, unit_of, weighed
from .convolution import _LETTERS, COUNT, _places, shrinks_away, windows
from .helpers import (
    Binding,
    Call,
    Evaluation,
    Numbers,
    Operand,
    Operator,
    Parameter,
    Params,
    Sizes,
    Tensor,
    X,
    call,
    family,
)
from .normalization import first, last


def _under(x: Array, p: Params) -> list[Array]:
    spatial = x.ndim - 2
    size, stride = int(p["size"]), int(p["strides"])
    outputs = _places(x.shape[1:-1], [size] * spatial, stride, 1)
    return [windows(x, offsets, outputs, stride, 1) for offsets in itertools.product(range(size), repeat=spatial)]


def _max_pool(m: Numbers, p: Params, x: Array) -> Evaluation:
    value, *others = _under(x, p)
    for other in others:
        value = np.maximum(value, other)
    return Evaluation(value, np.zeros_like(value))


def _avg_pool(m: Numbers, p: Params, x: Array) -> Evaluation:
    parts = _under(x, p)
    size = sum((abs(part) / len(parts) for part in parts[1:]), abs(parts[0]) / len(parts))
    return Evaluation(_mean_of(parts), growth(len(parts)) * size)


def _mean_of(parts: list[Array]) -> Array:
    """Their sum over their number, or the sum of their shares where the sum is out of range and the mean is not."""
    count = len(parts)
    whole = sum(parts[1:], parts[0]) / count
    shares = sum((part / count for part in parts[1:]), parts[0] / count)
    return np.where(abs(whole) == np.inf, shares, whole)


def _lp_pool(m: Numbers, p: Params, x: Array) -> Evaluation:
    parts = np.stack(_under(x, p), axis=-1)
    unit = unit_of(parts)
    value = m.sqrt(m.square(parts / unit).sum(axis=-1)) * unit[..., 0]
    return Evaluation(value, growth(parts.shape[-1]) * value)


def _tf(kind: str) -> Binding:
    def bind(p: Params, s: Mapping[str, Sizes]) -> Call:
        dimensions = len(s["x"]) - 1
        nchw = p["data_format"] == "channels_first"
        letters = _LETTERS[dimensions]
        found = call(f"tensorflow.nn.{kind}_pool{dimensions}d", Tensor("x", first(s["x"])) if nchw else X, p["size"],
                     p["strides"], "VALID", data_format=f"NC{letters}" if nchw else f"N{letters}C")  # fmt: skip
        return found.turned(last(s["x"])) if nchw else found

    return bind


def _torch(kind: str) -> Binding:
    def bind(p: Params, s: Mapping[str, Sizes]) -> Call:
        x = Tensor("x", first(s["x"]), view=p["data_format"] == "channels_last")
        api = f"torch.nn.functional.{kind}_pool{len(s['x']) - 1}d"
        return call(api, x, p["size"], p["strides"]).turned(last(s["x"]))

    return bind


def _keras(kind: str) -> Binding:
    def bind(p: Params, s: Mapping[str, Sizes]) -> Call:
        nchw = p["data_format"] == "channels_first"
        found = call(f"keras.ops.{kind}_pool", Tensor("x", first(s["x"])) if nchw else X, p["size"],
                     strides=p["strides"], padding="valid", data_format=p["data_format"])  # fmt: skip
        return found.turned(last(s["x"])) if nchw else found

    return bind


def _onnx(op: str) -> Binding:
    def bind(p: Params, s: Mapping[str, Sizes]) -> Call:
        dimensions = len(s["x"]) - 1
        found = call(f"onnx.{op}", Tensor("x", first(s["x"])), kernel_shape=[p["size"]] * dimensions,
                     strides=[p["strides"]] * dimensions)  # fmt: skip
        return found.turned(last(s["x"]))

    return bind


_PARAMETERS = (
    Parameter("size", 2, (2, 3)),
    Parameter("strides", 2, (2, 1)),
    Parameter("data_format", "channels_last", ("channels_last", "channels_first")),
)
_MAX: dict[str, Binding] = {
    "tensorflow": _tf("max"),
    "torch": _torch("max"),
    "keras": _keras("max"),
    "onnx": _onnx("MaxPool"),
}
_AVG: dict[str, Binding] = {
    "tensorflow": _tf("avg"), "torch": _torch("avg"), "keras": _keras("average"), "onnx": _onnx("AveragePool")
}  # fmt: skip
_SHAPES: dict[int, tuple[Sizes, ...]] = {
    1: ((33, 5), (16, 3)),
    2: ((28, 28, 3), (7, 9, 16)),
    3: ((6, 5, 7, 2), (4, 4, 4, 3)),
}


def _pool(name: str, formula: str, reference, calls: Mapping[str, Binding], dimensions: int) -> Operator:  # type: ignore[no-untyped-def]
    return Operator(
        name,
        "pooling",
        formula,
        (Operand("x"),),
        reference,
        calls,
        _PARAMETERS,
        _SHAPES[dimensions],
        unary=False,
        again=_again,
    )


def _again(p: Params, shape: Sizes, times: int) -> dict[str, Json] | str:
    """Windows have to fit into what is left; nothing else stands in the way."""
    return shrinks_away(shape[:-1], int(p["size"]), int(p["strides"]), times) or {}


def _global(m: Numbers, p: Params, x: Array) -> Evaluation:
    axes = tuple(range(1, x.ndim - 1))
    count, unit = math.prod(x.shape[1:-1]), unit_of(x, axes)
    mean, size = (y.sum(axis=axes, keepdims=True) / count * unit for y in (x / unit, abs(x / unit)))
    return Evaluation(mean.squeeze(axes), growth(count) * size.squeeze(axes))


# Resizing


def _weights(size: int, target: int) -> Array:
    """Linear interpolation between the centres of pixels, the edges held: a row per output."""
    found = np.zeros((target, size))
    for place in range(target):
        at = max((place + 0.5) * size / target - 0.5, 0.0)
        low = int(at)
        high = min(low + 1, size - 1)
        found[place, low] += 1 - (at - low)
        found[place, high] += at - low
    return found


def _bilinear(m: Numbers, p: Params, x: Array) -> Evaluation:
    high, wide = (_weights(size, size * int(p["factor"])) for size in x.shape[1:3])

    def resized(values: Array) -> Array:
        return weighed(wide, weighed(high, values, 1), 2)

    # Weights are differences of places: places of size n are rounded by n units, which the neighbours share.
    near = abs(x)
    for axis in (1, 2):
        near = np.maximum(near, np.maximum(_shifted(near, axis, 1), _shifted(near, axis, -1)))
    return Evaluation(resized(x), max(x.shape[1:3]) * int(p["factor"]) * resized(near))


def _shifted(x: Array, axis: int, by: int) -> Array:
    """Every pixel's neighbour; an edge is its own."""
    places = np.clip(np.arange(x.shape[axis]) + by, 0, x.shape[axis] - 1)
    return np.take(x, places, axis=axis)


def _nearest(m: Numbers, p: Params, x: Array) -> Evaluation:
    value = x.repeat(int(p["factor"]), axis=1).repeat(int(p["factor"]), axis=2)
    return Evaluation(value, np.zeros_like(value))


def _larger(p: Params, s: Mapping[str, Sizes]) -> list[int]:
    return [size * int(p["factor"]) for size in s["x"][:2]]


def _resize_calls(tf: str, torch: str, onnx: str) -> dict[str, Binding]:
    extra = {"align_corners": False} if torch == "bilinear" else {}
    coordinates = {"coordinate_transformation_mode": "half_pixel"}
    rounding = {"nearest_mode": "round_prefer_floor"} if onnx == "nearest" else {}
    return {
        "tensorflow": lambda p, s: call("tensorflow.image.resize", X, _larger(p, s), method=tf),
        "torch": lambda p, s: call("torch.nn.functional.interpolate", Tensor("x", first(s["x"])), _larger(p, s),
                                   mode=torch, **extra).turned(last(s["x"])),
        "jax": lambda p, s: call("jax.image.resize", X, [*s[COUNT], *_larger(p, s), s["x"][-1]], tf),
        "keras": lambda p, s: call("keras.ops.image.resize", X, _larger(p, s), interpolation=tf),
        "onnx": lambda p, s: call("onnx.Resize", Tensor("x", first(s["x"])), None, None,
                                  np.array([*s[COUNT], s["x"][-1], *_larger(p, s)]), mode=onnx,
                                  **coordinates, **rounding).turned(last(s["x"])),
    }  # fmt: skip


_FACTOR = (Parameter("factor", 2, (2, 3)),)

OPERATORS = family(
    _pool("max_pool1d", "the largest in each window", _max_pool, _MAX, 1),
    _pool("pooling", "the largest in each window", _max_pool, _MAX, 2),
    _pool("max_pool3d", "the largest in each window", _max_pool, _MAX, 3),
    _pool("avg_pool1d", "the mean of each window", _avg_pool, _AVG, 1),
    _pool("avg_pool2d", "the mean of each window", _avg_pool, _AVG, 2),
    _pool("avg_pool3d", "the mean of each window", _avg_pool, _AVG, 3),
    _pool("lp_pool2d", "the root of the sum of squares of each window", _lp_pool,
          {"torch": lambda p, s: call("torch.nn.functional.lp_pool2d", Tensor("x", first(s["x"])), 2.0, p["size"],
                                      p["strides"]).turned(last(s["x"])),
           "onnx": lambda p, s: call("onnx.LpPool", Tensor("x", first(s["x"])), kernel_shape=[p["size"]] * 2, p=2,
                                     strides=[p["strides"]] * 2).turned(last(s["x"]))}, 2),
    Operator("global_avg_pool2d", "pooling", "the mean over the whole image", (Operand("x"),), _global,
             {"tensorflow": lambda p, s: call("tensorflow.math.reduce_mean", X, axis=[1, 2]),
              "torch": lambda p, s: call("torch.mean", call("torch.nn.functional.adaptive_avg_pool2d",
                                                            Tensor("x", first(s["x"])), 1), dim=[2, 3]),
              "jax": lambda p, s: call("jax.numpy.mean", X, axis=(1, 2)),
              "keras": lambda p, s: call("keras.ops.mean", X, axis=[1, 2]),
              "onnx": lambda p, s: call("onnx.ReduceMean", X, np.array([1, 2]), keepdims=0)},
             (), ((14, 14, 3), (7, 9, 16)), unary=False),
    Operator("resize_bilinear", "pooling", "linear between the centres of pixels", (Operand("x"),), _bilinear,
             _resize_calls("bilinear", "bilinear", "linear"), _FACTOR, ((5, 6, 3), (7, 4, 1)), unary=False,
             unlike={"tensorflow": "the return value has type float32, unless the method is nearest"}),
    Operator("resize_nearest", "pooling", "the nearest pixel", (Operand("x"),), _nearest,
             _resize_calls("nearest", "nearest", "nearest"), _FACTOR, ((5, 6, 3), (7, 4, 1)), unary=False),
)  # fmt: skip
