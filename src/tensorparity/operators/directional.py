"""One-sided directional derivatives of a reference: f'(x; d), where f is what a cotangent makes of the outputs.

    f'(x; d) = lim (f(x + t d) - f(x)) / t   for t from above

The references are evaluated in float64, so a difference over a small step keeps half of the digits. Two things
make it careful. The step moves every number by a share of its own size that is below float32's roundoff, so two
numbers that are different in the dtype under test never change places. And it is taken twice, with the curvature
extrapolated away, so that what is left is exact for anything that is linear on each side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array

#: Output terms (a cotangent times the outputs, or a loss) from the arrays a direction moves; f is their sum.
Terms = Callable[[Sequence[Array]], Array]

#: A number moves by at most some four times this share of its size; float32 tells neighbours at 2**-24 apart.
STEP = 2.0**-30
_NOISE = 2.0**-51


@dataclass(frozen=True, slots=True)
class Slope:
    """One-sided derivatives of the terms, the sum of their sizes, and how far rounding may have taken that sum."""

    values: Array
    size: float
    noise: float


def one_sided(terms: Terms, at: Sequence[Array], direction: Sequence[Array], middle: Array) -> Slope | None:
    """The derivatives of ``terms`` at ``at`` along ``direction``; None where a value is not finite.

    Args:
        middle: ``terms(at)``, which all directions share.
    """
    with np.errstate(all="ignore"):
        whole = (terms(_moved(at, direction, STEP)) - middle) / STEP
        half = (terms(_moved(at, direction, STEP / 2.0)) - middle) / (STEP / 2.0)
    if not (np.isfinite(whole).all() and np.isfinite(half).all()):
        return None
    extrapolated = 2.0 * half - whole
    touched = np.abs(middle[whole != 0.0]).sum()
    return Slope(extrapolated, float(np.abs(extrapolated).sum()), 8.0 * _NOISE / STEP * float(touched))


def _moved(at: Sequence[Array], direction: Sequence[Array], step: float) -> list[Array]:
    return [array + step * along for array, along in zip(at, direction, strict=True)]


def scales(array: Array) -> Array:
    """How far each number may move: its own size; for zeros the smallest size there is, or one."""
    sizes = np.abs(array)
    others = sizes[(sizes > 0) & np.isfinite(sizes)]
    least = float(others.min()) if others.size else 1.0
    result: Array = np.where(sizes > 0, sizes, least)
    return result
