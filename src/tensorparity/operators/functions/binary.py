"""Functions of two numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..reference.digits import MP
from .helpers import Binding, Evaluation, Numbers, Operand, Operator, Tensor, bindings, call, family

A, B = Tensor("a"), Tensor("b")
_SHAPES = ((28, 3), (17,), (1,), (15,), (16,))
Pair = Callable[[Numbers, Array, Array], Array]


def _pair(
    name: str, formula: str, value: Pair, kappa: Pair, a: dict[str, Any], b: dict[str, Any], **names: str | Binding
) -> Operator:
    def reference(m: Numbers, params: object, x: Array, y: Array) -> Evaluation:
        with np.errstate(all="ignore"):
            return Evaluation(value(m, x, y), abs(kappa(m, x, y)))

    operands = (Operand("a", **a), Operand("b", **b))
    exact = name not in ("logaddexp",)  # whose kappa is of its own terms
    calls = bindings((A, B), names)
    return Operator(name, "binary", formula, operands, reference, calls, (), _SHAPES, unary=False, conditioned=exact)


def _logaddexp(m: Numbers, a: Array, b: Array) -> Array:
    """The larger plus what the other adds; of two equal infinities, that infinity, as NumPy has it."""
    top = np.maximum(a, b)
    return np.where((a == b) & (abs(a) == np.inf), a, top + m.log1p(m.exp(-abs(a - b))))


def _logaddexp_terms(m: Numbers, a: Array, b: Array) -> Array:
    """The logarithm that is added, and what the rounded difference of the exponents does to it: 1 at most.

    The larger exponent is added last, which rounds the result alone: what cancels there is nobody's to lose.
    """
    return 0 * m.exp(-abs(a - b)) + 1


def _pow(m: Numbers, a: Array, b: Array) -> Array:
    return a**b if m.of is float else np.where(b == 0, m.of(1.0), m.exp(b * m.log(a)))


def _xlogy(m: Numbers, a: Array, b: Array) -> Array:
    return np.where((a == 0) & (b == b), a, a * m.log(b))


def _hypot(m: Numbers, a: Array, b: Array) -> Array:
    """Scaled by the larger, so that no square leaves the range; infinite beside an infinity, also if that is NaN."""
    endless = (abs(a) == np.inf) | (abs(b) == np.inf)
    top = np.maximum(abs(a), abs(b))
    safe = np.where((top == 0) | endless, 1, top)
    return np.where(endless, np.inf, top * m.sqrt(m.square(a / safe) + m.square(b / safe)))


def _atan2(m: Numbers, a: Array, b: Array) -> Array:
    if m.of is float:
        return np.asarray(np.arctan2(a, b))
    return np.asarray(np.frompyfunc(MP.atan2, 2, 1)(a, b), dtype=object)


OPERATORS = family(
    _pair("divide", "a over b", lambda m, a, b: a / b, lambda m, a, b: a * 0, {}, {},
          tensorflow="math.divide", torch="div", jax="numpy.divide", keras="divide", onnx="Div"),
    _pair("pow", "a to the b", _pow,
          lambda m, a, b: np.where(b == 0, 0 * a, _pow(m, a, b) * (abs(b) + abs(b * m.log(a)))),
          {"low": 0.0, "points": (0.0, 1.0)}, {"points": (0.0, 1.0, 0.5)},
          tensorflow="math.pow", torch="pow", jax="numpy.power", keras="power", onnx="Pow"),
    _pair("atan2", "angle of the point (b, a)", _atan2,
          lambda m, a, b: a * b / np.where(a * a + b * b == 0, 1, a * a + b * b), {}, {},
          tensorflow="math.atan2", torch="atan2", jax="numpy.arctan2", keras="arctan2"),
    _pair("hypot", "root of a^2 + b^2", _hypot, lambda m, a, b: _hypot(m, a, b), {}, {},
          torch="hypot", jax="numpy.hypot", keras="hypot"),
    _pair("logaddexp", "log(exp(a) + exp(b))", _logaddexp, _logaddexp_terms, {}, {},
          torch="logaddexp", jax="numpy.logaddexp", keras="logaddexp"),
    _pair("xlogy", "a log(b), and 0 where a is 0", _xlogy, lambda m, a, b: a, {}, {"low": 0.0, "points": (0.0, 1.0)},
          tensorflow="math.xlogy", torch="special.xlogy", jax="scipy.special.xlogy"),
    _pair("xlog1py", "a log(1 + b), and 0 where a is 0",
          lambda m, a, b: np.where((a == 0) & (b == b), a, a * m.log1p(b)), lambda m, a, b: a * b / (1 + b), {},
          {"low": -1.0, "points": (0.0, -1.0)},
          tensorflow="math.xlog1py", torch="special.xlog1py", jax="scipy.special.xlog1py"),
    _pair("squared_difference", "(a - b)^2", lambda m, a, b: m.square(a - b),
          lambda m, a, b: m.square(a - b), {}, {},
          tensorflow="math.squared_difference",
          torch=lambda p, s: call("torch.square", call("torch.sub", A, B)),
          jax=lambda p, s: call("jax.numpy.square", call("jax.numpy.subtract", A, B)),
          keras=lambda p, s: call("keras.ops.square", call("keras.ops.subtract", A, B))),
)  # fmt: skip
