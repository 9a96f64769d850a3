"""The dot-product test: is a gradient that of the documented formula?

For an output y(x, w), a cotangent g and any direction v, the gradients G must satisfy <G, v> = <g, J v>. The right-hand
side needs the reference only: a difference of two evaluations in float64. So every layer with a reference has a
reference of its gradient too, and neither a second target nor a vote is needed to convict. At a kink the two one-sided
differences are not the same; every gradient between them is as good, and nothing is measured there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..operators.spec import Evaluation

#: Outputs, with their rounding, from the arrays that a direction moves.
Function = Callable[[Sequence[Array]], Evaluation]

_STEP = 2.0**-20
#: One-sided differences further apart than this share of their size are a kink. Curvature alone stays far below.
_KINK = 1e-3
_DIRECTIONS = 3
#: Gradients are sums of many products; so many roundoffs of the sum of their sizes are explained.
_ALLOWED = 2.0**10


@dataclass(frozen=True, slots=True)
class Slope:
    """One direction: the derivative of <g, y> along it, and how large the terms of that sum are.

    What cancels in the formula itself cancels in its derivative: the kappa of the output counts as a term.
    """

    direction: tuple[Array, ...]
    value: float
    scale: float


def slopes(function: Function, at: Sequence[Array], cotangent: Array, rng: np.random.Generator) -> list[Slope] | None:
    """Derivatives along a few random directions; None at a kink, or where a value is not finite."""
    found: list[Slope] = []
    whole = function(at)
    middle, rounding = whole.value, float(np.sum(np.abs(cotangent) * whole.kappa))
    for _ in range(_DIRECTIONS):
        direction = tuple(np.asarray(rng.standard_normal(array.shape)) * _size(array) for array in at)
        with np.errstate(all="ignore"):
            ahead = (function(_moved(at, direction, _STEP)).value - middle) / _STEP
            behind = (middle - function(_moved(at, direction, -_STEP)).value) / _STEP
        if not (np.isfinite(ahead).all() and np.isfinite(behind).all()):
            return None
        size = float(max(np.abs(ahead).max(initial=0.0), np.abs(behind).max(initial=0.0)))
        if np.abs(ahead - behind).max(initial=0.0) > _KINK * size + 1e-7 * float(np.abs(middle).max(initial=0.0)):
            return None
        terms = cotangent * (ahead + behind) / 2.0
        found.append(Slope(direction, float(terms.sum()), float(np.abs(terms).sum()) + rounding))
    return found


def _moved(at: Sequence[Array], direction: Sequence[Array], step: float) -> list[Array]:
    return [array + step * along for array, along in zip(at, direction, strict=True)]


def _size(array: Array) -> float:
    """Directions move each array by its own scale, or the smallest would not count."""
    return float(np.abs(array).max(initial=0.0)) or 1.0


def gradient_error(found: Sequence[Slope], gradients: Sequence[Array | None], roundoff: float) -> float:
    """The largest violation of the identity, in units that rounding explains; a missing gradient is zero."""
    worst = 0.0
    for slope in found:
        terms = [
            (gradient.astype(np.float64) * along)
            for gradient, along in zip(gradients, slope.direction, strict=True)
            if gradient is not None
        ]
        total = float(sum(term.sum() for term in terms))
        scale = slope.scale + float(sum(np.abs(term).sum() for term in terms))
        if not np.isfinite(total):
            return float("inf")
        noise = _ALLOWED * roundoff * scale + 1e-9 * slope.scale + 1e-30
        worst = max(worst, abs(total - slope.value) / noise)
    return worst
