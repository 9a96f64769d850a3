"""Numbers of 50 digits for the references: mpmath's functions, with the limits that floats have."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from ...core.arrays import Array
from .numbers import Function, Numbers

_DIGITS = 50
#: From here on erfc is beyond every exponent that is kept, and a few terms of the tail's series have all digits.
_FAR_ERFC, _FAR_NDTR, _TAIL = 1e20, -1e7, 6
#: Beyond this so many terms of the Bessel functions' expansion have all digits.
_FAR_BESSEL, _BESSEL_TERMS = 1000.0, 30


class Imprecise(Exception):
    """The evaluation in 50 digits failed; the message says how."""


#: How mpmath fails where a function is out of its reach.
FAILURES = (ArithmeticError, ValueError, TypeError, mpmath.libmp.NoConvergence)


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


#: mpmath's functions change the precision of their context while they compute: whoever computes with these numbers in
#: a thread beside others holds it.
ONE_AT_A_TIME = threading.RLock()
#: A context of our own: the library's is everybody's, and has 15 digits unless somebody says otherwise.
MP = _digits(_DIGITS)


class _Precise(Numbers):
    def pi(self) -> Any:
        return +MP.pi

    def array(self, array: Array) -> Array:
        with np.errstate(all="ignore"):  # of a NaN
            return np.asarray(np.frompyfunc(MP.mpf, 1, 1)(array.astype(np.float64)), dtype=object)


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


def _mp_erfc(x: Any) -> Any:
    return MP.erfc(x) if abs(x) < _FAR_ERFC or MP.isnan(x) else MP.mpf(0 if x > 0 else 2)


def _mp_scaled_bessel(order: int) -> Callable[[Any], Any]:
    def scaled(x: Any) -> Any:
        if MP.isinf(x):
            return MP.mpf(0)
        if abs(x) > _FAR_BESSEL:
            return MP.sign(x) ** order * _bessel_tail(order, abs(x))
        return MP.besseli(order, x) * MP.exp(-abs(x))

    return scaled


def _bessel_tail(order: int, x: Any) -> Any:
    """Hankel's expansion; mpmath takes digits in proportion to x, and does not come back from the large ones."""
    term = total = MP.mpf(1)
    for k in range(1, _BESSEL_TERMS):
        term = -term * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * x)
        total = total + term
    return total / MP.sqrt(2 * MP.pi * x)


def _mp_bessel(order: int) -> Callable[[Any], Any]:
    scaled = _mp_scaled_bessel(order)

    def bessel(x: Any) -> Any:
        if MP.isinf(x):
            return MP.sign(x) ** order * MP.inf
        return scaled(x) * MP.exp(abs(x)) if abs(x) > _FAR_BESSEL else MP.besseli(order, x)

    return bessel


def _mp_lgamma(x: Any) -> Any:
    """The reflected formula for large negative arguments, where gamma itself is too small to be taken."""
    if x > 0:
        return MP.loggamma(x)
    if x == MP.floor(x):
        return MP.inf
    return MP.log(MP.pi / abs(MP.sin(MP.pi * x))) - MP.loggamma(1 - x)


def _mp_ndtri(p: Any) -> Any:
    """With as many more digits as 2p - 1 loses."""
    if not 0 < p < 1:
        return {0: -MP.inf, 1: MP.inf}.get(p, MP.nan)
    with MP.workdps(_DIGITS + max(0, int(-MP.log10(min(p, 1 - p) + MP.mpf(10) ** -400)))):
        return MP.sqrt(2) * MP.erfinv(2 * p - 1)


def _mp_log_ndtr(x: Any) -> Any:
    """Near one by what is missing; far below by the tail's asymptotic series, the tail itself being too small."""
    if x > 0:
        return MP.log1p(-_mp_erfc(x / MP.sqrt(2)) / 2)
    if x >= _FAR_NDTR or MP.isnan(x):
        return MP.log(_mp_erfc(-x / MP.sqrt(2)) / 2)
    term = tail = MP.mpf(1)
    for k in range(1, _TAIL):
        term = -term * (2 * k - 1) / (x * x)
        tail = tail + term
    return -x * x / 2 - MP.log(-x * MP.sqrt(2 * MP.pi) / tail)


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
            "digamma",
            "erfinv",
            "floor",
            "sign",
        ]
    }
    | {
        "erfc": _precise(_mp_erfc),
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
