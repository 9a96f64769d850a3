"""Powers and logarithms that are the same to the last bit on every machine.

NumPy computes these with the vector instructions of the processor, and its answers differ in the last bit from one
processor to the next. Numbers that a case is drawn from must not: a seed gives the same cases everywhere. Additions,
multiplications, divisions and the splitting of numbers into mantissa and exponent are exact or correctly rounded on
all machines, and nothing else is used here. Errors stay within a few units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import Array

_LN2, _LOG2_10 = math.log(2.0), math.log2(10.0)
#: Terms of the series of exp on |t| <= ln(2) / 2, and of atanh on |s| <= 0.1716: the next ones vanish.
_EXP_TERMS, _ATANH_TERMS = 15, 11


def exp2(x: Array | float) -> Array:
    """Two to the power of x."""
    given = np.asarray(x, np.float64)
    whole = np.rint(given)
    t = (given - whole) * _LN2
    value = np.ones_like(t)
    for term in range(_EXP_TERMS, 0, -1):
        value = 1.0 + value * t / term
    return np.asarray(np.ldexp(value, whole.astype(np.int64)))


def exp10(x: Array | float) -> Array:
    """Ten to the power of x."""
    return exp2(np.asarray(x, np.float64) * _LOG2_10)


def log2(x: Array | float) -> Array:
    """The logarithm of positive finite numbers to the base of two."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    small = mantissa < math.sqrt(0.5)
    mantissa, exponent = np.where(small, 2 * mantissa, mantissa), exponent - small
    s = (mantissa - 1.0) / (mantissa + 1.0)
    series = np.zeros_like(s)
    for term in range(_ATANH_TERMS, -1, -1):
        series = series * s * s + 1.0 / (2 * term + 1)
    return np.asarray(2.0 * s * series / _LN2 + exponent)
