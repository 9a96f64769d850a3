"""Activation functions of one number, and softmax.

What implementations may take literally (the difference in elu, the bracket in gelu) is ``own``: the same bounds as
the layers' (operators/functions/named_activations.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array
from ..reference.numbers import Numbers
from ..reference.rounding import growth
from ..spec import Params
from .helpers import (
    Binding,
    Elementwise,
    Evaluation,
    Operand,
    Operator,
    Parameter,
    Tensor,
    X,
    bindings,
    call,
    elementwise,
    family,
    plain,
)
from .spec import DTYPE, Call, Lacking, Sizes

_SELU_SCALE, _SELU_ALPHA = 1.05070098735548049342, 1.67326324235437728481


def sigmoid(m: Numbers, x: Array) -> Array:
    small = m.exp(-abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def softplus(m: Numbers, x: Array) -> Array:
    return np.maximum(x, 0) + m.log1p(m.exp(-abs(x)))


def softsign(m: Numbers, x: Array) -> Array:
    """X / (1 + |x|), and its limits at the infinities."""
    return np.where(_endless(x), m.sign(x), x / (1 + abs(x)))


def _endless(x: Array) -> Array:
    return np.asarray(abs(x) == np.inf)


def squareplus(m: Numbers, b: float, x: Array) -> Array:
    """(x + r) / 2 with r = sqrt(x^2 + b), as b / 2 / (r - x) below 0: no square overflows and nothing cancels."""
    size = np.maximum(abs(x), m.sqrt(m.of(float(b))))
    safe = np.where((size == 0) | _endless(x), 1, size)
    root = safe * m.sqrt(m.square(x / safe) + m.of(float(b)) / safe / safe)
    below = m.of(float(b)) / 2 / np.where(x < 0, root - x, 1)
    found = np.where(x < 0, below, (x + root) / 2)
    return np.where(_endless(x) | (size == 0), np.maximum(x, 0), found)


def hard_silu(m: Numbers, x: Array) -> Array:
    """Told by cases, so that an infinity meets no 0."""
    middle = x * np.clip(x / 6 + m.of(0.5), 0, 1)
    return np.where(x <= -3, 0, np.where(x >= 3, x, middle))


def _elu(alpha: float, scale: float) -> Elementwise:
    return lambda m, x: scale * np.where(x > 0, x, alpha * m.expm1(np.minimum(x, 0)))


def _elu_slope(alpha: float, scale: float) -> Elementwise:
    return lambda m, x: np.where(x > 0, scale, scale * alpha * m.exp(np.minimum(x, 0)))


def _elu_terms(alpha: float, scale: float) -> Elementwise:
    return lambda m, x: np.where(x > 0, 0, scale * alpha * (m.exp(np.minimum(x, 0)) + 1))


def times_vanishing(x: Array, factor: Array) -> Array:
    """X times a factor that vanishes faster than x grows below: 0 at minus infinity, which is the limit."""
    return np.where(x == -np.inf, 0 * factor, x * factor)


def _gelu(m: Numbers, x: Array) -> Array:
    return times_vanishing(x, m.erfc(-x / m.sqrt(m.of(2.0))) / 2)


def _gelu_slope(m: Numbers, x: Array) -> Array:
    root = m.sqrt(m.of(2.0))
    return m.erfc(-x / root) / 2 + x * m.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _gelu_terms(m: Numbers, x: Array) -> Array:
    return abs(x) / 2 * (1 + abs(m.erf(x / m.sqrt(m.of(2.0)))))


def _inner(m: Numbers, x: Array) -> Array:
    return m.sqrt(2 / m.pi()) * (x + m.of(0.044715) * x * x * x)


def gelu_tanh(m: Numbers, x: Array) -> Array:
    """Half of x (1 + tanh(u)) with the bracket as 2 sigmoid(2u)."""
    return times_vanishing(x, sigmoid(m, 2 * _inner(m, x)))


def gelu_tanh_slope(m: Numbers, x: Array) -> Array:
    u = _inner(m, x)
    s = sigmoid(m, 2 * u)
    return s + x * 2 * s * (1 - s) * 0.8 * (1 + 0.134145 * x * x)


def mish(m: Numbers, x: Array) -> Array:
    """X tanh(softplus(x)), with tanh(log(1 + e)) as (e^2 + 2e) / (e^2 + 2e + 2)."""
    e = m.exp(np.minimum(x, 0))
    below = times_vanishing(x, (e * (e + 2)) / (e * (e + 2) + 2))
    return np.where(x < 0, below, x * m.tanh(softplus(m, np.maximum(x, 0))))


def _mish_slope(m: Numbers, x: Array) -> Array:
    bent = m.tanh(softplus(m, x))
    return bent + x * (1 - bent * bent) * sigmoid(m, x)


def _softmax(m: Numbers, params, x: Array) -> Evaluation:  # type: ignore[no-untyped-def]
    axis = params["axis"]
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = m.exp(shifted)
    value = powers / powers.sum(axis=axis, keepdims=True)
    inner = abs(shifted)
    shared = (value * inner).sum(axis=axis, keepdims=True)
    return Evaluation(value, value * (inner + shared + growth(x.shape[axis])))


def _log_softmax(m: Numbers, params, x: Array) -> Evaluation:  # type: ignore[no-untyped-def]
    axis = params["axis"]
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = m.exp(shifted)
    total = powers.sum(axis=axis, keepdims=True)
    weights = powers / total
    inner = abs(shifted)
    shared = (weights * inner).sum(axis=axis, keepdims=True)
    return Evaluation(shifted - m.log(total), inner + shared + m.log(total) + growth(x.shape[axis]))


_AXIS = (Parameter("axis", -1, (-1,)),)
_SHAPES = ((28, 28, 3), (10,), (17,), (1,), (16,), (1000,))


def _along_axis(name: str) -> dict[str, Binding]:
    def keyword(api: str, word: str) -> Binding:
        return lambda params, sizes: call(api, X, **{word: params["axis"]})

    onnx = {"softmax": "onnx.Softmax", "log_softmax": "onnx.LogSoftmax"}[name]
    return {
        "tensorflow": keyword(f"tensorflow.nn.{name}", "axis"),
        "torch": keyword(f"torch.nn.functional.{name}", "dim"),
        "jax": keyword(f"jax.nn.{name}", "axis"),
        "keras": keyword(f"keras.ops.{name}", "axis"),
        "onnx": keyword(onnx, "axis"),
    }


def _onnx_celu(p: Params, s: Mapping[str, Sizes]) -> Call:
    if p[DTYPE] != "float32":
        raise Lacking("the ONNX standard has Celu in float32 alone")
    return call("onnx.Celu", X)


OPERATORS = family(
    elementwise("relu", "max(x, 0)", lambda m, x: np.maximum(x, 0), lambda m, x: np.where(x > 0, 1, 0),
                family="activations",
                by_cases=True, tensorflow="nn.relu", torch="nn.functional.relu", jax="nn.relu", keras="relu",
                onnx="Relu"),
    elementwise("relu6", "min(max(x, 0), 6)", lambda m, x: np.minimum(np.maximum(x, 0), 6), lambda m, x: x * 0,
                family="activations",
                by_cases=True, points=(0.0, 6.0), tensorflow="nn.relu6", torch="nn.functional.relu6",
                jax="nn.relu6", keras="relu6"),
    elementwise("leaky_relu", "x, or x / 4 below 0", lambda m, x: np.where(x < 0, m.of(0.25) * x, x),
                lambda m, x: np.where(x < 0, 0.25, 1), family="activations",
                by_cases=True,
                tensorflow=plain("tensorflow.nn.leaky_relu", X, alpha=0.25),
                torch=plain("torch.nn.functional.leaky_relu", X, negative_slope=0.25),
                jax=plain("jax.nn.leaky_relu", X, negative_slope=0.25),
                keras=plain("keras.ops.leaky_relu", X, negative_slope=0.25),
                onnx=plain("onnx.LeakyRelu", X, alpha=0.25)),
    elementwise("sigmoid", "1 / (1 + exp(-x))", sigmoid, lambda m, x: sigmoid(m, x) * sigmoid(m, -x),
                family="activations", tensorflow="math.sigmoid", torch="sigmoid", jax="nn.sigmoid", keras="sigmoid",
                onnx="Sigmoid"),
    elementwise("log_sigmoid", "log of the sigmoid", lambda m, x: -softplus(m, -x), lambda m, x: sigmoid(m, -x),
                family="activations", tensorflow="math.log_sigmoid", torch="nn.functional.logsigmoid",
                jax="nn.log_sigmoid", keras="log_sigmoid"),
    elementwise("softplus", "log(exp(x) + 1)", softplus, sigmoid, family="activations",
                tensorflow="math.softplus", torch="nn.functional.softplus", jax="nn.softplus", keras="softplus",
                onnx="Softplus",
                unlike={"torch": "the implementation reverts to the linear function when input * beta > threshold"}),
    elementwise("softsign", "x / (1 + |x|)", softsign, lambda m, x: 1 / m.square(1 + abs(x)),
                family="activations", tensorflow="nn.softsign", torch="nn.functional.softsign", jax="nn.soft_sign",
                keras="softsign", onnx="Softsign"),
    elementwise("elu", "x, or exp(x) - 1 below 0", _elu(1.0, 1.0), _elu_slope(1.0, 1.0), own=_elu_terms(1.0, 1.0),
                family="activations",
                by_cases=True, tensorflow="nn.elu", torch="nn.functional.elu", jax="nn.elu", keras="elu",
                onnx="Elu"),
    elementwise("selu", "elu, scaled to keep mean and variance", _elu(_SELU_ALPHA, _SELU_SCALE),
                _elu_slope(_SELU_ALPHA, _SELU_SCALE), own=_elu_terms(_SELU_ALPHA, _SELU_SCALE), family="activations",
                by_cases=True,
                tensorflow="nn.selu", torch="nn.functional.selu", jax="nn.selu", keras="selu",
                onnx="Selu", unlike={"onnx": "alpha and gamma are attributes of type float"}),
    elementwise("celu", "max(x, 0) + min(0, exp(x) - 1)", _elu(1.0, 1.0), _elu_slope(1.0, 1.0),
                own=_elu_terms(1.0, 1.0), family="activations",
                by_cases=True, torch="nn.functional.celu", jax="nn.celu",
                keras="celu", onnx=_onnx_celu),
    elementwise("gelu", "x times the normal distribution function", _gelu, _gelu_slope, own=_gelu_terms,
                family="activations",
                tensorflow=plain("tensorflow.nn.gelu", X, approximate=False),
                torch=plain("torch.nn.functional.gelu", X, approximate="none"),
                jax=plain("jax.nn.gelu", X, approximate=False),
                keras=plain("keras.ops.gelu", X, approximate=False),
                onnx=plain("onnx.Gelu", X, approximate="none")),
    elementwise("gelu_tanh", "x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))", gelu_tanh, gelu_tanh_slope,
                own=lambda m, x: abs(x), family="activations",
                tensorflow=plain("tensorflow.nn.gelu", X, approximate=True),
                torch=plain("torch.nn.functional.gelu", X, approximate="tanh"),
                jax=plain("jax.nn.gelu", X, approximate=True),
                keras=plain("keras.ops.gelu", X, approximate=True),
                onnx=plain("onnx.Gelu", X, approximate="tanh")),
    elementwise("silu", "x times its sigmoid", lambda m, x: times_vanishing(x, sigmoid(m, x)),
                lambda m, x: sigmoid(m, x) * (1 + x * sigmoid(m, -x)), family="activations", points=(0.0, -1.278),
                tensorflow="nn.silu", torch="nn.functional.silu", jax="nn.silu", keras="silu"),
    elementwise("mish", "x tanh(softplus(x))", mish, _mish_slope, family="activations",
                torch="nn.functional.mish", jax="nn.mish", onnx="Mish"),
    elementwise("hard_sigmoid", "x / 6 + 1 / 2, between 0 and 1", lambda m, x: np.clip(x / 6 + m.of(0.5), 0, 1),
                lambda m, x: np.where(abs(x) < 3.1, 0.17, 0), own=lambda m, x: np.where(abs(x) < 3.1, 0.5, 0),
                family="activations", by_cases=True,
                points=(-3.0, 3.0), torch="nn.functional.hardsigmoid", jax="nn.hard_sigmoid", keras="hard_sigmoid",
                onnx=plain("onnx.HardSigmoid", X, alpha=1.0 / 6.0, beta=0.5),
                unlike={"onnx": "alpha is an attribute of type float"}),
    elementwise("hard_silu", "x times its hard sigmoid", hard_silu,
                lambda m, x: np.where(abs(x) < 3.1, abs(x) / 3 + 0.5, np.where(x > 0, 1, 0)),
                own=lambda m, x: np.where(abs(x) < 3.1, abs(x), 0),
                family="activations",
                by_cases=True, points=(-3.0, 3.0), torch="nn.functional.hardswish", jax="nn.hard_silu",
                keras="hard_silu", onnx="HardSwish"),
    elementwise("hard_tanh", "x between -1 and 1", lambda m, x: np.clip(x, -1, 1), lambda m, x: x * 0,
                family="activations",
                by_cases=True, points=(-1.0, 1.0), torch="nn.functional.hardtanh", jax="nn.hard_tanh",
                keras="hard_tanh"),
    elementwise("tanh_shrink", "x - tanh(x)", lambda m, x: x - m.tanh(x), lambda m, x: m.square(m.tanh(x)),
                own=lambda m, x: abs(x) + abs(m.tanh(x)), family="activations",
                torch="nn.functional.tanhshrink", keras="tanh_shrink"),
    elementwise("soft_shrink", "sign(x) max(|x| - 1/2, 0)",
                lambda m, x: np.where(x > 0, np.maximum(x - m.of(0.5), 0), np.minimum(x + m.of(0.5), 0)),
                lambda m, x: np.where(abs(x) > 0.4, 1, 0), own=lambda m, x: np.where(abs(x) > 0.4, 0.5, 0),
                family="activations", by_cases=True,
                points=(-0.5, 0.5), torch="nn.functional.softshrink", keras="soft_shrink",
                onnx=plain("onnx.Shrink", X, lambd=0.5, bias=0.5)),
    elementwise("squareplus", "(x + sqrt(x^2 + 4)) / 2", lambda m, x: squareplus(m, 4.0, x),
                lambda m, x: x * 0 + 1, own=lambda m, x: abs(x) + 1, family="activations",
                jax="nn.squareplus", keras="squareplus"),
    Operator("softmax", "activations", "exp(x) over its sum along the axis",
             (Operand("x"),), _softmax, _along_axis("softmax"), _AXIS, _SHAPES),
    Operator("log_softmax", "activations", "x minus the log of the sum of exp(x) along the axis",
             (Operand("x"),), _log_softmax, _along_axis("log_softmax"), _AXIS, _SHAPES),
    Operator("prelu", "activations", "x, or a slope of its own times x below 0",
             (Operand("x"), Operand("slope", stacked=False)),
             lambda m, p, x, slope: Evaluation(np.where(x >= 0, x, slope * x), abs(np.where(x >= 0, 0 * x, slope * x))),
             bindings((), {
                 "torch": lambda p, s: call("torch.nn.functional.prelu", Tensor("x", _first(s["x"])),
                                            Tensor("slope")).turned(_back(s["x"])),
                 "onnx": lambda p, s: call("onnx.PRelu", X, Tensor("slope")),
             }),
             shapes=((28, 28, 3), (17,)), resolve=lambda p, shape: {"x": shape, "slope": (shape[-1],)}, by_cases=True),
)  # fmt: skip


def _first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Channels, the last axis, to where torch has them: right after the stacking axis."""
    rank = len(shape) + 1
    return (0, rank - 1, *range(1, rank - 1))


def _back(shape: tuple[int, ...]) -> tuple[int, ...]:
    rank = len(shape) + 1
    return (0, *range(2, rank), 1)
