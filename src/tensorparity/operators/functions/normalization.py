"""Normalizations. ``norm`` is the paper's: batch normalization in inference, as its code has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth, unit_of
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
    unseen_length,
)
from .spec import DTYPE, Lacking

MEAN, VARIANCE, SCALE, OFFSET = (Tensor(name) for name in ("mean", "variance", "scale", "offset"))
#: Powers of two: attributes of ONNX are float32, and so exact.
_EPSILON = Parameter("epsilon", 2.0**-10, (2.0**-10, 2.0**-17))
_FORMAT = Parameter("data_format", "channels_last", ("channels_last", "channels_first"))
_IMAGES = ((28, 28, 3), (5, 4, 16), (1, 1, 1), (3, 7, 17))


def _norm(m: Numbers, p: Params, x: Array, mean: Array, variance: Array, scale: Array, offset: Array) -> Evaluation:
    root = m.sqrt(variance + m.of(p["epsilon"]))
    gap = x - mean
    value = gap / root * scale + offset
    # The usual way folds scale and offset into one factor and one term, which cancel where x is near the mean.
    kappa = (abs(x) + abs(mean)) / root * abs(scale) + abs(offset)
    return Evaluation(value, 2 * kappa)


def first(sizes: Sizes) -> tuple[int, ...]:
    """Channels from the last axis to right after the stacking axis."""
    rank = len(sizes) + 1
    return (0, rank - 1, *range(1, rank - 1))


def last(sizes: Sizes) -> tuple[int, ...]:
    rank = len(sizes) + 1
    return (0, *range(2, rank), 1)


def _tf_norm(p: Params, s: Mapping[str, Sizes]) -> Call:
    """Channels first is a matter of shapes: mean and all others stand before the sizes of the image."""
    nchw = p["data_format"] == "channels_first"
    per_channel = [call("tensorflow.reshape", item, [-1, *[1] * (len(s["x"]) - 1)]) if nchw else item
                   for item in (MEAN, VARIANCE, OFFSET, SCALE)]  # fmt: skip
    x = Tensor("x", first(s["x"])) if nchw else X
    called = call("tensorflow.nn.batch_normalization", x, *per_channel, p["epsilon"])
    return called.turned(last(s["x"])) if nchw else called


def _torch_norm(p: Params, s: Mapping[str, Sizes]) -> Call:
    """Channels come second; ``channels_last`` is then a matter of strides."""
    x = Tensor("x", first(s["x"]), view=p["data_format"] == "channels_last")
    called = call("torch.nn.functional.batch_norm", x, MEAN, VARIANCE, SCALE, OFFSET, False, 0.0, p["epsilon"])
    return called.turned(last(s["x"]))


def _keras_norm(p: Params, s: Mapping[str, Sizes]) -> Call:
    if p["data_format"] == "channels_first":
        called = call("keras.ops.batch_normalization", Tensor("x", first(s["x"])), MEAN, VARIANCE, 1,
                      offset=OFFSET, scale=SCALE, epsilon=p["epsilon"])  # fmt: skip
        return called.turned(last(s["x"]))
    return call(
        "keras.ops.batch_normalization", X, MEAN, VARIANCE, -1, offset=OFFSET, scale=SCALE, epsilon=p["epsilon"]
    )


def _jax_norm(p: Params, s: Mapping[str, Sizes]) -> Call:
    return call("jax.nn.standardize", X, mean=MEAN, variance=VARIANCE, epsilon=p["epsilon"])


def _onnx_norm(p: Params, s: Mapping[str, Sizes]) -> Call:
    x = Tensor("x", first(s["x"]))
    called = call("onnx.BatchNormalization", x, SCALE, OFFSET, MEAN, VARIANCE, epsilon=p["epsilon"])
    return called.turned(last(s["x"]))


def _standardize(m: Numbers, x: Array, axes: tuple[int, ...], epsilon: Any, scale: Array, offset: Array) -> Evaluation:
    count = int(np.prod([x.shape[axis] for axis in axes]))
    unit = np.maximum(unit_of(x, axes), 1)
    x, epsilon = x / unit, epsilon / unit / unit
    mean = x.sum(axis=axes, keepdims=True) / count
    gap = x - mean
    variance = (gap * gap).sum(axis=axes, keepdims=True) / count
    root = m.sqrt(variance + epsilon)
    value = gap / root * scale + offset
    size = growth(count) * abs(x).max(axis=axes, keepdims=True)
    with np.errstate(all="ignore"):
        # What rounding of the mean does to the variance, relative to it, counts for every element.
        spread = (abs(gap) * (abs(x) + abs(mean))).sum(axis=axes, keepdims=True) / count / (variance + epsilon)
    kappa = (abs(x) + abs(mean) + size) / root * abs(scale) + abs(gap / root * scale) * spread + abs(offset)
    return Evaluation(value, kappa)


def _layer_norm(m: Numbers, p: Params, x: Array, scale: Array, offset: Array) -> Evaluation:
    return _standardize(m, x, (-1,), m.of(p["epsilon"]), scale, offset)


def _instance_norm(m: Numbers, p: Params, x: Array, scale: Array, offset: Array) -> Evaluation:
    return _standardize(m, x, tuple(range(1, x.ndim - 1)), m.of(p["epsilon"]), scale, offset)


def _group_norm(m: Numbers, p: Params, x: Array, scale: Array, offset: Array) -> Evaluation:
    groups, shape = int(p["groups"]), x.shape
    parts = x.reshape(*shape[:-1], groups, shape[-1] // groups)
    per_channel = scale.reshape(groups, -1), offset.reshape(groups, -1)
    axes = (*range(1, x.ndim - 1), x.ndim)
    found = _standardize(m, parts, axes, m.of(p["epsilon"]), *per_channel)
    return Evaluation(found.value.reshape(shape), np.asarray(found.kappa).reshape(shape))


def _rms_norm(m: Numbers, p: Params, x: Array, scale: Array) -> Evaluation:
    n = x.shape[-1]
    unit = np.maximum(unit_of(x), 1)
    x = x / unit
    root = m.sqrt((x * x).sum(axis=-1, keepdims=True) / n + m.of(p["epsilon"]) / unit / unit)
    value = x / root * scale
    return Evaluation(value, abs(value) * growth(n))


def _l2_normalize(m: Numbers, p: Params, x: Array) -> Evaluation:
    x = x / unit_of(x)
    length = m.sqrt((x * x).sum(axis=-1, keepdims=True))
    value = x / np.where(length == 0, 1, length)  # all take the larger of the length and a tiny number
    return Evaluation(value, abs(value) * growth(x.shape[-1]))


def _keras_normalize(p: Params, s: Mapping[str, Sizes]) -> Call:
    if p[DTYPE] == "float64":
        raise Lacking("keras.ops.normalize takes 1 / epsilon in float32, which an epsilon that does not show overflows")
    return call("keras.ops.normalize", X, axis=-1, order=2, epsilon=unseen_length(p))


def _lrn(m: Numbers, p: Params, x: Array) -> Evaluation:
    """X over (1 + alpha / size * sum of squares over five channels) to the beta."""
    unit = np.maximum(unit_of(x), 1)
    squares, channels = m.square(x / unit), x.shape[-1]
    sums = np.stack([squares[..., max(0, c - 2) : c + 3].sum(axis=-1) for c in range(channels)], axis=-1)
    base = m.of(1.0) / unit / unit + m.of(2.0**-13) * sums
    value = x / unit / m.sqrt(m.of(1.0) * unit) * base ** m.of(-0.75)
    return Evaluation(value, abs(value) * 8)


def _per_channel(*names: str):  # type: ignore[no-untyped-def]
    return lambda p, s: {"x": s, **dict.fromkeys(names, (s[-1],))}


def _as_nchw(api: str, **kwargs: str) -> Binding:
    """A function of torch's or ONNX', which have channels second."""

    def bind(p: Params, s: Mapping[str, Sizes]) -> Call:
        given = {key: p[name] for key, name in kwargs.items()}
        return call(api, Tensor("x", first(s["x"])), SCALE, OFFSET, **given).turned(last(s["x"]))

    return bind


_AFFINE = (Operand("x"), Operand("scale", stacked=False), Operand("offset", stacked=False))
_ROWS = ((64,), (1,), (15,), (17,), (4, 33), (1000,))

OPERATORS = family(
    Operator("norm", "normalization", "(x - mean) / sqrt(variance + epsilon) * scale + offset",
             (Operand("x"), Operand("mean", stacked=False), Operand("variance", stacked=False, low=0.01, points=(1.0,)),
              Operand("scale", stacked=False), Operand("offset", stacked=False)),
             _norm,
             {"tensorflow": _tf_norm, "torch": _torch_norm, "keras": _keras_norm, "onnx": _onnx_norm,
              "jax": lambda p, s: call("jax.numpy.add", call("jax.numpy.multiply", _jax_norm(p, s), SCALE), OFFSET)},
             (_EPSILON, _FORMAT), _IMAGES, _per_channel("mean", "variance", "scale", "offset")),
    Operator("layer_norm", "normalization", "the last axis to mean 0 and variance 1, then scale and offset", _AFFINE,
             _layer_norm,
             {"torch": lambda p, s: call("torch.nn.functional.layer_norm", X, [s["x"][-1]], SCALE, OFFSET,
                                         p["epsilon"]),
              "keras": lambda p, s: call("keras.ops.layer_normalization", X, SCALE, OFFSET, epsilon=p["epsilon"]),
              "jax": lambda p, s: call("jax.numpy.add", call("jax.numpy.multiply", call(
                  "jax.nn.standardize", X, axis=-1, epsilon=p["epsilon"]), SCALE), OFFSET),
              "onnx": lambda p, s: call("onnx.LayerNormalization", X, SCALE, OFFSET, axis=-1, epsilon=p["epsilon"])},
             (_EPSILON,), _ROWS, _per_channel("scale", "offset"),
             limited={"jax": '"fast" uses mean(x^2) - mean(x)^2 which may be faster but can suffer from catastrophic '
                             "cancellation (algorithm, of which it is the default)"}),
    Operator("instance_norm", "normalization", "every channel of every instance to mean 0 and variance 1", _AFFINE,
             _instance_norm,
             {"torch": lambda p, s: call("torch.nn.functional.instance_norm", Tensor("x", first(s["x"])), None, None,
                                         SCALE, OFFSET, True, 0.0, p["epsilon"]).turned(last(s["x"])),
              "onnx": _as_nchw("onnx.InstanceNormalization", epsilon="epsilon")},
             (_EPSILON,), ((5, 4, 3), (7, 7, 2), (28, 28, 3)), _per_channel("scale", "offset")),
    Operator("group_norm", "normalization", "groups of channels of every instance to mean 0 and variance 1", _AFFINE,
             _group_norm,
             {"torch": lambda p, s: call("torch.nn.functional.group_norm", Tensor("x", first(s["x"])), p["groups"],
                                         SCALE, OFFSET, p["epsilon"]).turned(last(s["x"]))},
             (_EPSILON, Parameter("groups", 2, (2, 1))), ((5, 4, 4), (7, 7, 6), (3, 3, 16)),
             _per_channel("scale", "offset")),
    Operator("rms_norm", "normalization", "x over the root of its mean square, then scale",
             (Operand("x"), Operand("scale", stacked=False)), _rms_norm,
             {"torch": lambda p, s: call("torch.nn.functional.rms_norm", X, [s["x"][-1]], SCALE, p["epsilon"]),
              "keras": lambda p, s: call("keras.ops.rms_normalization", X, SCALE, epsilon=p["epsilon"])},
             (_EPSILON,), _ROWS, _per_channel("scale")),
    Operator("l2_normalize", "normalization", "x over its length along the last axis", (Operand("x", points=(1.0,)),),
             _l2_normalize,
             {"tensorflow": lambda p, s: call("tensorflow.math.l2_normalize", X, axis=-1,
                                              epsilon=unseen_length(p) ** 2),
              "torch": lambda p, s: call("torch.nn.functional.normalize", X, dim=-1, eps=unseen_length(p)),
              "keras": _keras_normalize,
              "onnx": lambda p, s: call("onnx.LpNormalization", X, axis=-1, p=2)},
             (), ((64,), (2,), (15,), (17,), (1000,))),
    Operator("lrn", "normalization", "x over (1 + 2^-13 times the sum of squares of five channels) ^ 0.75",
             (Operand("x"),), _lrn,
             {"tensorflow": lambda p, s: call("tensorflow.nn.local_response_normalization", X, depth_radius=2, bias=1.0,
                                              alpha=2.0**-13, beta=0.75),
              "torch": lambda p, s: call("torch.nn.functional.local_response_norm", Tensor("x", first(s["x"])), 5,
                                         alpha=5 * 2.0**-13, beta=0.75, k=1.0).turned(last(s["x"])),
              "onnx": lambda p, s: call("onnx.LRN", Tensor("x", first(s["x"])), size=5, alpha=5 * 2.0**-13, beta=0.75,
                                        bias=1.0).turned(last(s["x"]))},
             (), ((4, 4, 7), (3, 3, 16))),
)  # fmt: skip
