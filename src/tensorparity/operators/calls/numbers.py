"""Two kinds of numbers that a reference is written for at once: NumPy's floats, and mpmath's of 50 digits.

NumPy's own arithmetic, comparisons, sums and products work on object arrays of mpmath numbers too; only functions
need a table. With float32 arrays the first kind is a stable evaluation of the formula in that dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from ...core.arrays import Array

_DIGITS = 50
#: Newton's steps, recurrences and terms of power series: more than any argument needs.
_NEWTON, _RECURRENCES, _POWERS = 12, 12, 80
#: Terms of asymptotic series, which are worth it from the size below on.
_FAR_BESSEL, _FAR_NDTR = 24, 9
#: Where one formula takes over from another; both hold around it.
_MIRROR, _FROM_DIGAMMA, _FROM_BESSEL, _FROM_NDTR = 0.5, 10.0, 30.0, -20.0
Function = Callable[[Array], Array]


def _digits(count: int) -> Any:
    """Mpmath's numbers with so many digits in all arithmetic, also between functions; dividing by zero is IEEE's."""
    context = mpmath.MPContext()
    context.dps = count
    divide, divided = context.mpf.__truediv__, context.mpf.__rtruediv__

    def by_zero(above: Any) -> Any:
        above = context.convert(above)
        return context.nan if above == 0 or context.isnan(above) else context.sign(above) * context.inf

    def over(self: Any, other: Any) -> Any:
        try:
            return divide(self, other)
        except ZeroDivisionError:
            return by_zero(self)

    def under(self: Any, other: Any) -> Any:
        try:
            return divided(self, other)
        except ZeroDivisionError:
            return by_zero(other)

    context.mpf.__truediv__, context.mpf.__rtruediv__ = over, under
    return context


#: A context of our own: the library's is everybody's, and has 15 digits unless somebody says otherwise.
MP = _digits(_DIGITS)


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


class _Precise(Numbers):
    def pi(self) -> Any:
        return +MP.pi

    def array(self, array: Array) -> Array:
        return np.asarray(np.frompyfunc(MP.mpf, 1, 1)(array.astype(np.float64)), dtype=object)


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
        return value

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


def _precise(function: Callable[[Any], Any]) -> Function:
    def guarded(value: Any) -> Any:
        try:
            found = function(value)
        except ZeroDivisionError:
            return MP.inf
        except ValueError:
            return MP.nan
        return found if not isinstance(found, MP.mpc) else MP.nan

    over = np.frompyfunc(guarded, 1, 1)
    return lambda x: np.asarray(over(x), dtype=object)


def _mp_scaled_bessel(order: int) -> Callable[[Any], Any]:
    return lambda x: MP.besseli(order, x) * MP.exp(-abs(x))


def _mp_bessel(order: int) -> Callable[[Any], Any]:
    return lambda x: MP.besseli(order, x)


def _mp_lgamma(x: Any) -> Any:
    """The reflected formula for large negative arguments, where gamma itself is too small to be taken."""
    if x > 0:
        return MP.loggamma(x)
    if x == MP.floor(x):
        return MP.inf
    return MP.log(MP.pi / abs(MP.sin(MP.pi * x))) - MP.loggamma(1 - x)


def _mp_ndtri(p: Any) -> Any:
    """With as many more digits as 2p - 1 loses."""
    if p == 0:
        return -MP.inf
    with MP.workdps(_DIGITS + max(0, int(-MP.log10(min(p, 1 - p) + MP.mpf(10) ** -400)))):
        return MP.sqrt(2) * MP.erfinv(2 * p - 1)


def _mp_log_ndtr(x: Any) -> Any:
    return MP.log(MP.erfc(-x / MP.sqrt(2)) / 2)


PRECISE = _Precise(
    {
        name: _precise(getattr(MP, name))
        for name in [
            "exp",
            "expm1",
            "log",
            "log1p",
            "log10",
            "sqrt",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "asin",
            "acos",
            "atan",
            "asinh",
            "acosh",
            "atanh",
            "erf",
            "erfc",
            "digamma",
            "erfinv",
            "floor",
            "sign",
        ]
    }
    | {
        "exp2": _precise(lambda x: MP.power(2, x)),
        "log2": _precise(lambda x: MP.log(x, 2)),
        "square": _precise(lambda x: x * x),
        "reciprocal": _precise(lambda x: 1 / x),
        "round": _precise(MP.nint),
        "lgamma": _precise(_mp_lgamma),
        "trigamma": _precise(lambda x: MP.psi(1, x)),
        "i0e": _precise(_mp_scaled_bessel(0)),
        "i1e": _precise(_mp_scaled_bessel(1)),
        "i0": _precise(_mp_bessel(0)),
        "i1": _precise(_mp_bessel(1)),
        "log_ndtr": _precise(_mp_log_ndtr),
        "ndtri": _precise(_mp_ndtri),
    },
    MP.mpf,
)
