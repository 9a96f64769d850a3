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

from ...core.arrays import Array
from ..spec import Evaluation

#: Output terms (a cotangent times the outputs, or a loss) with their rounding, from the arrays a direction moves; f is
#: the sum of their values.
Terms = Callable[[Sequence[Array]], Evaluation]

#: A number moves by at most some four times this share of its size; float32 tells neighbours at 2**-24 apart.
STEP = 2.0**-30
_NOISE = 2.0**-51
#: Half a step into a jump the slope is twice as steep, half a step from a root of 0 by two fifths.
_UNRESOLVED = 0.25


@dataclass(frozen=True, slots=True)
class Slope:
    """One-sided derivatives of the terms, the sum of their sizes, and how far rounding may have taken that sum.

    Args:
        rounding: what rounding the terms on the way does, in the units of their kappa. What cancels in a formula
            cancels in its derivative, too.
        resolved: half a step gives about the same: within the step nothing jumps, and nothing grows without limit.
    """

    values: Array
    size: float
    noise: float
    rounding: float = 0.0
    resolved: bool = True


def one_sided(terms: Terms, at: Sequence[Array], direction: Sequence[Array], middle: Evaluation) -> Slope | None:
    """The derivatives of ``terms`` at ``at`` along ``direction``; None where a value is not finite, or not there.

    Args:
        middle: ``terms(at)``, which all directions share.
    """
    with np.errstate(all="ignore"):
        moved, nearer = terms(_moved(at, direction, STEP)), terms(_moved(at, direction, STEP / 2.0))
        if not moved.value.shape == nearer.value.shape == middle.value.shape:
            return None  # a step away from a value that masks, there are more terms
        whole = (moved.value - middle.value) / STEP
        half = (nearer.value - middle.value) / (STEP / 2.0)
    if not (np.isfinite(whole).all() and np.isfinite(half).all()):
        return None
    extrapolated = 2.0 * half - whole
    touched = np.abs(middle.value[whole != 0.0]).sum()
    noise = 8.0 * _NOISE / STEP * float(touched)
    return Slope(
        extrapolated,
        float(np.abs(extrapolated).sum()),
        noise,
        _rounding_of_derivative(whole, _known_kappa(middle.kappa, whole.shape), _known_kappa(moved.kappa, whole.shape)),
        float(np.abs(half - whole).sum()) <= _UNRESOLVED * float(np.abs(half).sum()) + noise,
    )


def _known_kappa(kappa: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.where(np.isnan(kappa), 0.0, kappa), shape)


def _rounding_of_derivative(change: Array, before: Array, after: Array) -> float:
    """Of the derivative: the kappa of whatever changes, and how fast it changes itself.

    Where nothing changes, the derivative may be what two equal slopes leave (a cosine of parallel vectors): a target
    that computes both is left with their rounding, so the largest kappa counts.
    """
    with np.errstate(all="ignore"):
        growth = np.nan_to_num(np.abs(after - before) / STEP, nan=0.0)  # the same infinity before and after
    touched = (change != 0.0) | (growth != 0.0)
    if not touched.any():
        finite = before[np.isfinite(before)]
        return float(finite.max(initial=0.0))
    return float(before[touched].sum() + growth.sum())


def _moved(at: Sequence[Array], direction: Sequence[Array], step: float) -> list[Array]:
    return [array + step * along for array, along in zip(at, direction, strict=True)]


def scales(array: Array) -> Array:
    """How far each number may move: its own size; for zeros the smallest size there is, or one."""
    sizes = np.abs(array)
    others = sizes[(sizes > 0) & np.isfinite(sizes)]
    least = float(others.min()) if others.size else 1.0
    result: Array = np.where(sizes > 0, sizes, least)
    return result
