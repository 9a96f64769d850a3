"""Differences measured in units of what rounding explains."""

from __future__ import annotations

import math

import numpy as np

from ...core.arrays import Array, dtype_name, unit_roundoff
from ...core.channels import distance, is_exact, is_finite, magnitude, same

#: Below this many units of roundoff of the output's own scale, two outputs are called equal.
SCREEN = 16.0


def scaled_difference(a: Array, b: Array) -> Array:
    """Per instance: the largest difference over that instance's largest magnitude.

    Infinite where one side is finite and the other is not, and where integers, booleans or strings differ.
    """
    rows_a, rows_b = _rows(a), _rows(b)
    if rows_a.shape[1] == 0:
        return np.zeros(len(rows_a))
    difference = distance(rows_a, rows_b).max(axis=1)
    if is_exact(rows_a) and is_exact(rows_b):
        return np.where(difference == 0, 0.0, np.inf)
    with np.errstate(all="ignore"):
        finite = [np.where(is_finite(rows), magnitude(rows), 0.0).max(axis=1) for rows in (rows_a, rows_b)]
        scale = np.maximum(*finite)
        return np.where(difference == 0, 0.0, difference / np.maximum(scale, np.finfo(np.float32).tiny))


def nonfinite_pattern_differs(a: Array, b: Array) -> bool:
    """A NaN or infinity on one side only, or of another kind or sign."""
    if is_exact(a) or is_exact(b):
        return False
    odd = ~is_finite(a) | ~is_finite(b)
    return bool((odd & ~same(a, b)).any())


def output_units(a: Array, b: Array) -> float:
    """The screen's measure: largest scaled difference in units of the coarser dtype's roundoff."""
    unit = max(unit_roundoff(dtype_name(a)), unit_roundoff(dtype_name(b))) or np.finfo(np.float64).eps
    return float(scaled_difference(a, b).max(initial=0.0) / unit)


def _rows(array: Array) -> Array:
    """One row per instance, also of nothing; a scalar is one instance."""
    array = np.atleast_1d(array)
    return array.reshape(len(array), math.prod(array.shape[1:]))
