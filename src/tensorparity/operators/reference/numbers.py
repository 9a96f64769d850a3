"""The numbers that a reference is written for: NumPy's floats here, mpmath's of 50 digits in ``digits``.

NumPy's own arithmetic, comparisons, sums and products work on object arrays of mpmath numbers too; only functions
need a table. With float32 arrays the first kind is a stable evaluation of the formula in that dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import Array

#: Newton's steps, recurrences and terms of power series: more than any argument needs.
_NEWTON, _RECURRENCES, _POWERS = 12, 12, 80
#: Terms of asymptotic series, which are worth it from the size below on.
_FAR_BESSEL, _FAR_NDTR = 24, 9
#: Where one formula takes over from another; both hold around it.
_MIRROR, _FROM_DIGAMMA, _FROM_BESSEL, _FROM_NDTR = 0.5, 10.0, 30.0, -20.0
Function = Callable[[Array], Array]


class Numbers:
    """Elementwise functions by name (``numbers.exp``); constants through ``of``."""

    def __init__(self, functions: dict[str, Function], of: Callable[[float], Any]) -> None:
        self._functions = functions
        self.of = of

    def __getattr__(self, name: str) -> Function:
        try:
            return self._functions[name]
        except KeyError:
            raise AttributeError(f"no function {name!r} of these numbers") from None

    def array(self, array: Array) -> Array:
        """The array in these numbers, exactly."""
        return array

    def pi(self) -> Any:
        return math.pi


def _scalar(function: Callable[[float], float]) -> Function:
    """A function of single floats over arrays; its dtype is that of the argument."""

    def guarded(value: float) -> float:
        try:
            return function(value)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    over = np.frompyfunc(guarded, 1, 1)

    def apply(x: Array) -> Array:
        x = np.asarray(x)
        return np.asarray(over(x.astype(np.float64)), dtype=np.float64).astype(x.dtype)

    return apply


def _lgamma(x: float) -> float:
    """Infinite at the poles, which the standard library calls an error."""
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def _digamma(x: Array) -> Array:
    """Recurrence up to a size, then the asymptotic series; reflection for negative arguments."""
    x = np.asarray(x)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        mirrored = wide < _MIRROR
        z = np.where(mirrored, 1.0 - wide, wide)
        shift = np.zeros_like(z)
        for _ in range(_RECURRENCES):
            low = z < _FROM_DIGAMMA
            shift = np.where(low, shift + 1.0 / z, shift)
            z = np.where(low, z + 1.0, z)
        inverse = 1.0 / (z * z)
        tail = np.zeros_like(z)
        for coefficient in reversed(_BERNOULLI):
            tail = inverse * (coefficient + tail)
        value = np.log(z) - 0.5 / z - tail - shift
        fraction = wide - np.round(wide)
        value = np.where(mirrored, value - np.pi / np.tan(np.pi * fraction), value)
    pole = (wide <= 0) & (wide == np.floor(wide))
    return np.where(pole, np.nan, value).astype(x.dtype)


#: B_2k / (2k), the coefficients of digamma's asymptotic series in 1/z^2.
_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _trigamma(x: Array) -> Array:
    """The slope of digamma; used for conditioning alone."""
    wide = np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        mirrored = wide < 0.5
        z = np.where(mirrored, 1.0 - wide, wide)
        total = np.zeros_like(z)
        for _ in range(10):
            low = z < 10.0
            total = np.where(low, total + 1.0 / (z * z), total)
            z = np.where(low, z + 1.0, z)
        value = total + 1.0 / z + 0.5 / z**2 + 1.0 / (6 * z**3) - 1.0 / (30 * z**5)
        sine = np.sin(np.pi * (wide - np.round(wide)))
        return np.where(mirrored, (np.pi / sine) ** 2 - value, value).astype(np.asarray(x).dtype)


def _scaled_bessel(order: int) -> Function:
    """exp(-|x|) I_n(x): the power series, whose terms are all positive, then the asymptotic one."""

    def apply(x: Array) -> Array:
        x = np.asarray(x)
        z = np.abs(x.astype(np.float64))
        with np.errstate(all="ignore"):
            small = np.minimum(z, _FROM_BESSEL)
            term = (small / 2.0) ** order / math.factorial(order)
            series = term.copy()
            for k in range(1, _POWERS):
                term = term * (small / 2.0) ** 2 / (k * (k + order))
                series = series + term
            large = np.maximum(z, _FROM_BESSEL)
            step = np.ones_like(large)
            tail = step.copy()
            for k in range(1, _FAR_BESSEL + 1):
                step = step * ((2 * k - 1) ** 2 - 4.0 * order**2) / (8.0 * k * large)
                tail = tail + step
            value = np.where(z <= _FROM_BESSEL, series * np.exp(-small), tail / np.sqrt(2.0 * np.pi * large))
            value = np.where(np.isinf(z), 0.0, np.where(np.isnan(z), np.nan, value))
        return (np.sign(x.astype(np.float64)) ** order * value).astype(x.dtype)

    return apply


def _erfinv_guess(size: Array) -> Array:
    log = np.log1p(-size) + np.log1p(size)
    a = 2.0 / (np.pi * 0.147) + log / 2.0
    guess: Array = np.sqrt(np.sqrt(a * a - log / 0.147) - a)
    return guess


def _erfinv(x: Array) -> Array:
    """Winitzki's guess, then Newton's steps on erf, or on erfc where erf has no digits left."""
    x = np.asarray(x)
    wide = x.astype(np.float64)
    size = np.minimum(np.abs(wide), 1.0)
    with np.errstate(all="ignore"):
        y = _erfinv_guess(size)
        for _ in range(_NEWTON):
            gap = np.where(size < 0.5, _erf(y) - size, (1.0 - size) - _erfc(y))
            y = y - gap * (np.sqrt(np.pi) / 2.0) * np.exp(y * y)
    y = np.where(size == 1.0, np.inf, np.where(size == 0.0, 0.0, y))
    return np.where(np.abs(wide) > 1, np.nan, np.copysign(y, wide)).astype(x.dtype)


_erf, _erfc = _scalar(math.erf), _scalar(math.erfc)


def _log_ndtr(x: Array) -> Array:
    x = np.asarray(x)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        plain = np.log(0.5 * _erfc(-wide / math.sqrt(2.0)))
        near_one = np.log1p(-0.5 * _erfc(wide / math.sqrt(2.0)))
        z = np.minimum(wide, _FROM_NDTR)
        tail, term = np.ones_like(z), np.ones_like(z)
        for k in range(1, _FAR_NDTR + 1):
            term = -term * (2 * k - 1) / (z * z)
            tail = tail + term
        far = -0.5 * z * z - np.log(-z) - 0.5 * math.log(2.0 * math.pi) + np.log(tail)
    return np.where(wide > 0, near_one, np.where(wide < _FROM_NDTR, far, plain)).astype(x.dtype)


def _ndtri_guess(goal: Array) -> Array:
    """Where the log of the distribution function is about ``goal``: from its first terms far out."""
    guess: Array = -np.sqrt(np.maximum(-2.0 * goal - np.log(np.maximum(-4.0 * np.pi * goal, 1.0)), 0.0))
    return guess


def _ndtri(p: Array) -> Array:
    """Newton's steps on the log of the distribution function, which is concave: they cannot miss."""
    p = np.asarray(p)
    wide = p.astype(np.float64)
    with np.errstate(all="ignore"):
        low = np.minimum(wide, 1.0 - wide)  # exact: the upper half is subtracted from one without rounding
        goal = np.log(low)
        z = _ndtri_guess(goal)
        for _ in range(_NEWTON):
            log = _log_ndtr(z)
            z = z - (log - goal) * np.exp(log + 0.5 * z * z) * math.sqrt(2.0 * math.pi)
            z = np.minimum(z, 0.0)
    z = np.where(low == 0.0, -np.inf, np.where(wide == 0.5, 0.0, z))
    return np.where(wide > 0.5, -z, z).astype(p.dtype)


def _bessel(order: int) -> Function:
    scaled = _scaled_bessel(order)

    def apply(x: Array) -> Array:
        with np.errstate(all="ignore"):
            half = np.exp(np.abs(x) / 2)  # in two factors: the product may be finite where exp(|x|) is not
            value: Array = (scaled(x) * half) * half
            endless = np.sign(x) ** order * np.inf
        return np.where(np.isinf(x), endless, value)

    return apply


_NUMPY = {
    name: getattr(np, name)
    for name in [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "square",
        "reciprocal",
        "floor",
        "round",
        "sign",
    ]
} | {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
_NUMPY |= {"asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}

FLOAT = Numbers(
    {
        **_NUMPY,
        "erf": _erf,
        "erfc": _erfc,
        "lgamma": _scalar(_lgamma),
        "digamma": _digamma,
        "trigamma": _trigamma,
        "i0e": _scaled_bessel(0),
        "i1e": _scaled_bessel(1),
        "i0": _bessel(0),
        "i1": _bessel(1),
        "erfinv": _erfinv,
        "log_ndtr": _log_ndtr,
        "ndtri": _ndtri,
    },
    float,
)
