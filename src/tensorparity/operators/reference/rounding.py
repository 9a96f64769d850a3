"""How rounding grows, in one place: what every reference uses to state its ``kappa``.

The model is first order. An implementation in a dtype of unit roundoff u is expected to satisfy
``|y - value| <= K u (|value| + kappa)`` with K around 16; ``kappa`` holds what the formula does to
roundings on the way, ``|value|`` the rounding of the result itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import ml_dtypes
import numpy as np

from ...core.arrays import Array, dtype_named, is_floating, unit_roundoff
from ...core.channels import distance, is_exact, is_text, magnitude, paired_channels
from ..spec import Evaluation

#: Up to here a result in units of ``u (|value| + kappa)`` is explained by rounding.
K = 16.0

#: Relative size of the neighbourhood of an intermediate that a reference looks at for kinks: K u of
#: float16, the narrowest dtype in which kernels accumulate. Wider dtypes stay well inside of it.
NEIGHBOURHOOD = K * unit_roundoff("float16")


#: The unit of what is exact, integers and booleans: float64's, in which they are compared.
_EXACT = unit_roundoff("float64")
#: Beyond it float64 skips integers.
_EXACT_UP_TO = 2.0**53


def growth(terms: int) -> float:
    """Factor on ``sum |terms|`` for the rounding of a sum of that many terms.

    The worst case is n - 1, and no kernel comes near it: roundings are as often up as down, so a
    sequential sum in the dtype itself drifts like sqrt(n), and real kernels sum in blocks or in vector
    lanes, which is better still. Half of sqrt(n) leaves the sequential sum below K with room to spare
    and keeps a single lost or doubled term of a large contraction far above it.
    """
    return max(1.0, math.sqrt(terms) / 2.0)


#: Formulas are evaluated as they are written, without units: what a plain implementation does.
_LITERALLY: ContextVar[bool] = ContextVar("literally", default=False)


@contextmanager
def literally() -> Iterator[None]:
    """References without units, for whoever asks what the formula as it is written can reach in a dtype."""
    token = _LITERALLY.set(True)
    try:
        yield
    finally:
        _LITERALLY.reset(token)


def unit_of(x: Array, axes: int | tuple[int, ...] = -1) -> Array:
    """A power of two of the size of the largest number along these axes, which stay as ones.

    In units of it squares and sums of numbers from the ends of the range neither overflow nor vanish, and nothing is
    rounded. It is 1 of zeros, of what is not finite, and of mpmath's numbers, whose exponents have no end.
    """
    if x.dtype == object or _LITERALLY.get():
        shape = np.max(np.zeros(x.shape), axis=axes, keepdims=True, initial=0.0).shape
        return np.ones(shape, dtype=int if x.dtype == object else x.dtype)
    size = np.max(np.abs(x), axis=axes, keepdims=True, initial=0.0)
    sound = np.isfinite(size) & (size > 0)
    unit: Array = np.ldexp(np.ones_like(size), np.where(sound, np.frexp(np.where(sound, size, 1))[1] - 1, 0))
    return unit


def mean_over(x: Array, axes: int | tuple[int, ...], *, keepdims: bool = False) -> Array:
    """The mean along these axes, which is in range wherever the numbers are, though their sum may not be."""
    unit = unit_of(x, axes)
    mean = np.mean(x / unit, axis=axes, keepdims=True) * unit
    return mean if keepdims else np.asarray(mean.squeeze(axes))


def weighed(weights: Array, values: Array, axis: int) -> Array:
    """Sums of the values along an axis, one for each row of weights. A weight of 0 leaves a value out, whatever it is:
    it is no neighbour of that place, so that neither NaN nor an infinity comes from there.
    """
    if values.dtype != object and np.isfinite(values).all():
        return np.asarray(np.moveaxis(np.tensordot(weights, values, (1, axis)), 0, axis))
    along = np.moveaxis(values, axis, 0)
    rows = [_added([weight * along[place] for place, weight in enumerate(row) if weight]) for row in weights.tolist()]
    return np.moveaxis(np.stack(rows), 0, axis)


def _added(terms: list[Array]) -> Array:
    return np.asarray(sum(terms[1:], terms[0]))


def exact(value: Array) -> Evaluation:
    """An output that is copied or selected from the inputs: no rounding on the way."""
    return Evaluation(value, np.zeros_like(value, dtype=np.float64))


def error_units(actual: Array, evaluation: Evaluation, dtype: str) -> Array:
    """``e = |y - value| / (u (|value| + kappa))``, elementwise; what is compared with K.

    What underflow may do is added to the denominator. Equal infinities and NaN on both sides are 0, as is
    an infinity where the true value exceeds the dtype; any other non-finite value is infinity. The two
    channels of a complex number are measured on the scale of its modulus; the larger error counts.

    Integers, booleans and strings are equal or far beyond K: rounding explains nothing. Only where the true
    value of an integer was computed in float64 do its kappa, and beyond 2**53 its own rounding, count.
    """
    value = np.broadcast_to(evaluation.value, actual.shape)
    kappa = np.where(np.isnan(evaluation.kappa), 0.0, evaluation.kappa)  # 0 * inf: a slope of 0 at infinity
    if not is_floating(dtype) or is_text(actual) or is_text(value):
        return _exact_units(actual, value, kappa)
    y, true = paired_channels(actual, value)
    size = magnitude(value)
    with np.errstate(all="ignore"):
        scale = ((unit_roundoff(dtype) or _EXACT) * (size + kappa) + underflow(dtype))[..., None]
        units = np.abs(y - true) / scale
        overflow = np.isinf(y) & (np.sign(y) == np.sign(true)) & (np.abs(true) + K * scale >= largest(dtype))
    same = (y == true) | (np.isnan(y) & np.isnan(true)) | overflow
    bad = ~np.isfinite(y) | ~np.isfinite(true)
    result: Array = np.where(same, 0.0, np.where(bad, np.inf, units)).max(axis=-1)
    return result


def _exact_units(actual: Array, value: Array, kappa: Array) -> Array:
    allowed: Array | float = 1.0
    if not is_exact(value):
        size = magnitude(value)
        with np.errstate(all="ignore"):
            allowed = np.maximum(1.0, np.where(size > _EXACT_UP_TO, size, 0.0) + kappa)
    return distance(actual, value) / (_EXACT * allowed)


def underflow(dtype: str) -> float:
    """The absolute error underflow may cause, whatever the relative one.

    Kernels flush results and intermediates below the smallest normal number to zero, and a flushed
    intermediate may be multiplied by a moderate factor (x in ``x * sigmoid(x)``). The narrow formats are
    computed in float32 and rounded once, so they underflow gradually. Integers do not.
    """
    if not is_floating(dtype):
        return _EXACT
    info = ml_dtypes.finfo(dtype_named(dtype))  # type: ignore[no-untyped-call]
    if dtype in _GRADUAL:
        return float(info.smallest_subnormal)
    return K * float(info.smallest_normal)


def largest(dtype: str) -> float:
    """The largest finite number; integers have no infinity beyond it."""
    if not is_floating(dtype):
        return math.inf
    return float(ml_dtypes.finfo(dtype_named(dtype)).max)  # type: ignore[no-untyped-call]


_GRADUAL = frozenset({"float16", "float8_e4m3fn", "float8_e5m2"})
