"""Activation functions by the names layers accept: value and conditioning, in one table.

``apply`` takes an argument that may itself carry rounding. For an elementwise f,

    kappa = slope * (kappa_in + |x|) + own

where ``slope`` is the largest |f'| in the neighbourhood that the rounding of x can reach (so that a
kink just beside x counts), and ``own`` holds the terms of the documented formula where they cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import refuse
from ..reference.numbers import FLOAT
from ..reference.rounding import NEIGHBOURHOOD, growth
from ..spec import Evaluation
from . import activations

Elementwise = Callable[[Array], Array]

_SELU_SCALE = 1.05070098735548049342
_SELU_ALPHA = 1.67326324235437728481
_SQRT2 = math.sqrt(2.0)
_erf_of = np.frompyfunc(math.erf, 1, 1)  # NumPy has none of its own
_erfc_of = np.frompyfunc(math.erfc, 1, 1)


def _identity(x: Array) -> Array:
    return np.zeros_like(x)


@dataclass(frozen=True, slots=True)
class Function:
    """An elementwise function: value, derivative, and the terms that cancel in its documented formula."""

    value: Elementwise
    slope: Elementwise
    own: Elementwise = _identity

    def __call__(self, x: Evaluation) -> Evaluation:
        infinite = np.isinf(x.value)  # which rounding moves nowhere
        near = np.where(infinite, 0.0, NEIGHBOURHOOD * x.kappa)
        slope = np.abs(self.slope(x.value))
        if np.any(near):
            for neighbour in (x.value - near, x.value + near):
                slope = np.maximum(slope, np.abs(self.slope(neighbour)))
        moved = slope * np.where(infinite, 0.0, x.kappa + np.abs(x.value))
        return Evaluation(self.value(x.value), moved + self.own(x.value))


def sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def _sigmoid_slope(x: Array) -> Array:
    return sigmoid(x) * sigmoid(-x)


def softplus(x: Array) -> Array:
    """log(exp(x) + 1), written so that nothing overflows or cancels."""
    result: Array = np.logaddexp(x, 0.0)
    return result


def _negative_exponential(x: Array) -> Array:
    return np.exp(np.minimum(x, 0.0))


def elu(alpha: float, scale: float = 1.0) -> Function:
    """The identity above zero, alpha (exp(x) - 1) below; implementations may take the difference literally."""
    return Function(
        value=lambda x: scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0))),
        slope=lambda x: np.where(x > 0, scale, scale * abs(alpha) * _negative_exponential(x)),
        own=lambda x: np.where(x > 0, 0.0, scale * abs(alpha) * (_negative_exponential(x) + 1.0)),
    )


def celu(alpha: float) -> Function:
    """The identity above zero, alpha (exp(x / alpha) - 1) below."""

    def power(x: Array) -> Array:
        return _negative_exponential(x / alpha)

    return Function(
        value=lambda x: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0) / alpha)),
        slope=lambda x: np.where(x > 0, 1.0, power(x)),
        own=lambda x: np.where(x > 0, 0.0, abs(alpha) * (power(x) + 1.0)),
    )


def leaky_relu(negative_slope: float) -> Function:
    return Function(
        value=lambda x: np.where(x < 0, negative_slope * x, x),
        slope=lambda x: np.where(x < 0, abs(negative_slope), 1.0),
    )


def relu(max_value: float | None, negative_slope: float, threshold: float) -> Function:
    """The three-parameter rectifier, with its cases in the order the documentation lists them."""
    top = np.inf if max_value is None else max_value

    def value(x: Array) -> Array:
        below = negative_slope * (x - threshold) if negative_slope else np.where(np.isnan(x), x, 0.0)
        middle = np.where(x >= threshold, x, below)
        return middle if max_value is None else np.where(x >= top, max_value, middle)

    def slope(x: Array) -> Array:
        return np.where(x >= top, 0.0, np.where(x >= threshold, 1.0, negative_slope))

    def own(x: Array) -> Array:
        return np.where((x < threshold) & (x < top), negative_slope * (np.abs(x) + threshold), 0.0)

    return Function(value, slope, own)


def _erf(x: Array) -> Array:
    return np.asarray(_erf_of(x), dtype=np.float64)


def _erfc(x: Array) -> Array:
    return np.asarray(_erfc_of(x), dtype=np.float64)


def _gelu(x: Array) -> Array:
    """Half of x (1 + erf(x / sqrt 2)), with the bracket as erfc so that it keeps its digits for negative x."""
    return activations.times_vanishing(x, 0.5 * _erfc(-x / _SQRT2))


def _gelu_slope(x: Array) -> Array:
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return 0.5 * _erfc(-x / _SQRT2) + x * density


def _gelu_terms(x: Array) -> Array:
    return 0.5 * np.abs(x) * (1.0 + np.abs(_erf(x / _SQRT2)))


def softmax(x: Evaluation, axes: tuple[int, ...] = (-1,)) -> Evaluation:
    """exp(x) / sum(exp(x)). The exponent ``x - max`` is rounded, and a rounded exponent is a relative error."""
    shifted, exponentials, total = _shifted(x.value, axes)
    value = exponentials / total
    inner = x.kappa + np.abs(shifted)
    shared = _weighed(value, inner, axes)
    terms = growth(value.size // max(1, total.size))
    kappa = value * (inner + shared + terms)
    if len(axes) > 1:  # the way to reduce several axes at once is exp(x - logsumexp(x)), which rounds logsumexp
        kappa = kappa + value * (np.abs(x.value - shifted) + np.log(total))
    return Evaluation(value, kappa)


def log_softmax(x: Evaluation, axis: int = -1) -> Evaluation:
    shifted, exponentials, total = _shifted(x.value, (axis,))
    weights = exponentials / total
    inner = x.kappa + np.abs(shifted)
    shared = _weighed(weights, inner, (axis,))
    terms = growth(x.value.shape[axis])
    return Evaluation(shifted - np.log(total), inner + shared + np.log(total) + terms)


def _weighed(weights: Array, terms: Array, axes: tuple[int, ...]) -> Array:
    """The sum of the terms, each as often as its weight says; a weight of 0 outweighs an infinite term."""
    return np.asarray(np.sum(np.where(weights == 0, 0.0, weights * terms), axis=axes, keepdims=True))


def _shifted(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    shifted = x - np.max(x, axis=axes, keepdims=True)
    exponentials = np.exp(shifted)
    return shifted, exponentials, np.sum(exponentials, axis=axes, keepdims=True)


def _tanh_slope(x: Array) -> Array:
    slope: Array = 1.0 / np.square(np.cosh(np.clip(x, -300, 300)))
    return np.where(np.abs(x) > 300, 0.0, slope)


# The sparse, the shrinking and the hard

#: Numbers of float32 below it are 0 to some libraries, by their documentation.
_SUBNORMAL = float(np.finfo(np.float32).smallest_normal)
#: More than the largest 1 / (K u): on either side of a jump that rounding can reach, anything goes.
EITHER_SIDE = 2.0**53


def _kept(kept: Array, x: Evaluation, distance: Array, other: float) -> Evaluation:
    """The input where it is kept, else a constant: it jumps where the distance is 0."""
    flushed = (distance != 0) & (np.abs(distance) < _SUBNORMAL)
    reached = flushed | (np.abs(distance) < NEIGHBOURHOOD * x.kappa)
    kappa = np.where(kept, x.kappa, 0.0)
    return Evaluation(np.where(kept, x.value, other), np.where(reached, EITHER_SIDE, kappa))


def hard_shrink(threshold: float) -> Callable[[Evaluation], Evaluation]:
    """The input where its size exceeds the threshold, else 0."""

    def apply(x: Evaluation) -> Evaluation:
        beyond = np.abs(x.value) - threshold
        return _kept(beyond > 0, x, beyond, 0.0)

    return apply


def threshold(limit: float, default_value: float) -> Callable[[Evaluation], Evaluation]:
    """The input where it exceeds the limit, else the default value."""
    return lambda x: _kept(x.value > limit, x, x.value - limit, default_value)


def soft_shrink(threshold: float) -> Function:
    """The input, moved towards 0 by the threshold, and no further than 0."""
    return Function(
        value=lambda x: np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0),
        slope=lambda x: np.where(np.abs(x) > threshold, 1.0, 0.0),
        own=lambda x: np.where(np.abs(x) > threshold, threshold, 0.0),
    )


def squareplus(b: float) -> Function:
    return Function(
        value=lambda x: activations.squareplus(FLOAT, b, x),
        slope=lambda x: (1.0 + x / np.sqrt(np.square(x) + b)) / 2.0,
        own=lambda x: np.abs(x) + math.sqrt(b) / 2.0,
    )


def glu(x: Evaluation, axis: int = -1) -> Evaluation:
    """The first half along the axis times the sigmoid of the second."""
    size = x.value.shape[axis]
    if size % 2:
        refuse("axis", "one whose size is even", axis)
    value, gate = (
        Evaluation(np.take(x.value, part, axis), np.take(x.kappa, part, axis))
        for part in (range(size // 2), range(size // 2, size))
    )
    gate = FUNCTIONS["sigmoid"](gate)
    return Evaluation(value.value * gate.value, np.abs(value.value) * gate.kappa + value.kappa * gate.value)


def _mish_slope(x: Array) -> Array:
    bent = np.tanh(softplus(x))
    return bent + x * (1.0 - np.square(bent)) * sigmoid(x)


def _sparse_plus(x: Array) -> Array:
    return np.where(x <= -1, 0.0, np.where(x >= 1, x, np.square(x + 1.0) / 4.0))


def sparsemax(x: Evaluation, axis: int = -1) -> Evaluation:
    """The nearest point of the probability simplex: max(x - tau, 0), with tau so that the axis sums to 1."""
    found = _sparsemax(Evaluation(np.moveaxis(x.value, axis, -1), np.moveaxis(x.kappa, axis, -1)))
    return Evaluation(np.moveaxis(found.value, -1, axis), np.moveaxis(found.kappa, -1, axis))


def _sparsemax(x: Evaluation) -> Evaluation:
    """In distances from the largest, which 1 is not lost beside; one infinity alone takes all."""
    top = np.max(x.value, axis=-1, keepdims=True, initial=-np.inf)
    alone = (top == np.inf) & (np.sum(x.value == np.inf, axis=-1, keepdims=True) == 1)
    found = _sparsemax_of(Evaluation(x.value - top, x.kappa), np.max(np.abs(x.value), axis=-1, keepdims=True))
    return Evaluation(np.where(alone, x.value == np.inf, found.value), found.kappa)


def _sparsemax_of(x: Evaluation, largest: Array) -> Evaluation:
    descending = -np.sort(-x.value, axis=-1)
    places = np.arange(1, x.value.shape[-1] + 1)
    sums = np.cumsum(descending, axis=-1)
    count = np.sum(1.0 + places * descending > sums, axis=-1, keepdims=True)
    tau = (np.take_along_axis(sums, np.maximum(count - 1, 0), axis=-1) - 1.0) / count
    size = largest + np.max(x.kappa, axis=-1, keepdims=True) + 1.0
    return Evaluation(np.maximum(x.value - tau, 0.0), np.broadcast_to(growth(places.size) * size, x.value.shape))


_hard_silu = Function(
    value=lambda x: activations.hard_silu(FLOAT, x),
    slope=lambda x: np.where(np.abs(x) < 3.0, (2.0 * x + 3.0) / 6.0, np.where(x > 0, 1.0, 0.0)),
    own=lambda x: np.where(np.abs(x) < 3.0, np.abs(x), 0.0),
)

#: gelu by its approximation.
gelu_tanh = Function(
    value=lambda x: activations.gelu_tanh(FLOAT, x),
    slope=lambda x: activations.gelu_tanh_slope(FLOAT, x),
    own=np.abs,
)

_silu = Function(lambda x: activations.times_vanishing(x, sigmoid(x)), lambda x: sigmoid(x) + x * _sigmoid_slope(x))

#: name -> function. None, the absence of an activation, is ``linear``.
FUNCTIONS: dict[str, Callable[[Evaluation], Evaluation]] = {
    "relu": relu(None, 0.0, 0.0),
    "relu6": relu(6.0, 0.0, 0.0),
    "leaky_relu": leaky_relu(0.2),
    "sigmoid": Function(sigmoid, _sigmoid_slope),
    "tanh": Function(np.tanh, _tanh_slope),
    "softmax": softmax,
    "log_softmax": log_softmax,
    "softplus": Function(softplus, sigmoid),
    "softsign": Function(lambda x: activations.softsign(FLOAT, x), lambda x: 1.0 / np.square(1.0 + np.abs(x))),
    "elu": elu(1.0),
    "selu": elu(_SELU_ALPHA, _SELU_SCALE),
    "gelu": Function(_gelu, _gelu_slope, _gelu_terms),
    "silu": _silu,
    "swish": _silu,
    "exponential": Function(np.exp, np.exp),
    "hard_sigmoid": Function(
        value=lambda x: np.clip(x / 6.0 + 0.5, 0.0, 1.0),
        slope=lambda x: np.where(np.abs(x) < 3.0, 1.0 / 6.0, 0.0),
        own=lambda x: np.where(np.abs(x) < 3.0, 0.5, 0.0),
    ),
    "celu": celu(1.0),
    "hard_shrink": hard_shrink(0.5),
    "hard_silu": _hard_silu,
    "hard_swish": _hard_silu,
    "hard_tanh": Function(lambda x: np.clip(x, -1.0, 1.0), lambda x: np.where(np.abs(x) <= 1.0, 1.0, 0.0)),
    "log_sigmoid": Function(lambda x: -softplus(-x), lambda x: sigmoid(-x)),
    "mish": Function(lambda x: activations.mish(FLOAT, x), _mish_slope),
    "soft_shrink": soft_shrink(0.5),
    "sparse_plus": Function(
        value=_sparse_plus,
        slope=lambda x: np.clip((x + 1.0) / 2.0, 0.0, 1.0),
        own=lambda x: np.where(np.abs(x) < 1.0, np.abs(x + 1.0), 0.0),
    ),
    "sparse_sigmoid": Function(
        value=lambda x: np.clip((x + 1.0) / 2.0, 0.0, 1.0),
        slope=lambda x: np.where(np.abs(x) < 1.0, 0.5, 0.0),
        own=lambda x: np.where(np.abs(x) < 1.0, 0.5, 0.0),
    ),
    "sparsemax": sparsemax,
    "squareplus": squareplus(4.0),
    "tanh_shrink": Function(
        value=lambda x: x - np.tanh(x),
        slope=lambda x: np.square(np.tanh(x)),
        own=lambda x: np.abs(x) + np.abs(np.tanh(x)),
    ),
}

#: Values worth trying for an ``activation`` argument.
NAMES: tuple[Json, ...] = (None, "linear", *FUNCTIONS)
INVALID_NAMES: tuple[Json, ...] = ("no_such_activation", 3)


def check_name(name: Json, argument: str = "activation") -> None:
    if name is not None and name != "linear" and (not isinstance(name, str) or name not in FUNCTIONS):
        refuse(argument, f"None or one of {', '.join(('linear', *FUNCTIONS))}", name)


def apply(name: Json, x: Evaluation) -> Evaluation:
    """The activation of that name on an argument that may carry rounding.

    Raises:
        ShapeError: if there is no activation of that name.
    """
    check_name(name)
    return x if name in (None, "linear") else FUNCTIONS[name](x)
