"""How far a source is from a reference: |a - b| over the sum of the absolute terms, for values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.operators.reference.rounding import underflow
from tensorparity.operators.spec import Evaluation

#: The largest scaled error with which a source confirms a reference.
BOUND = 1e-12

#: Steps of the differences: from 1/8 down, halved; small enough at the end to step between most kinks.
_LARGEST_STEP, _STEPS = 2.0**-3, 11
_ORDERS = 5
_ROUNDING = 2.0**-54
#: Of what rounding may do on the way (kappa), extended precision leaves at most this part.
_KEPT = 64.0

Arrays = Mapping[str, Array]
Reference = Callable[[Arrays], Sequence[Evaluation]]


def scaled_error(actual: Array, evaluation: Evaluation) -> float:
    """The largest |a - b| / sum |terms|. The terms are what the reference rounds: its value and its kappa.

    What underflow may do, flushed to zero or not, is no error.
    """
    value = np.asarray(evaluation.value)
    if actual.shape != value.shape:
        return np.inf
    with np.errstate(all="ignore"):
        terms = np.abs(value) + np.where(np.isfinite(evaluation.kappa), evaluation.kappa, 0.0)
        gap = np.abs(actual - value)
        error = gap / terms
    flushed = gap <= underflow("float64")
    same = (actual == value) | flushed | (np.isnan(actual) & np.isnan(value))
    error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
    return float(error.max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Slope:
    """Derivatives of all outputs along one direction, in one row, and how uncertain each is."""

    values: Array
    doubt: Array


def slope(reference: Reference, arrays: Arrays, direction: Arrays) -> Slope:
    """The reference's own derivative, by Ridders' method: central differences at halved steps, extrapolated.

    In extended precision where the reference keeps it. Of all extrapolations the one is taken, output by output,
    that is least in doubt: it agrees with its neighbours, rounding at its step does little, and the two sides meet.
    The last is what tells a kink from a curve: the second difference over the step, extrapolated to a step of
    nothing, is the jump of the slope.
    """
    wide = {name: array.astype(np.longdouble) for name, array in arrays.items()}
    here = reference(arrays)
    middle = _row([evaluation.value for evaluation in here])
    size = np.abs(middle) + _row(_kappas(here)) / _KEPT
    middle = _moved(reference, wide, direction, 0.0)
    best, doubt = np.zeros(size.shape), np.full(size.shape, np.inf)
    slopes: list[Array] = []
    jumps: list[Array] = []
    for level in range(_STEPS):
        step = _LARGEST_STEP / 2.0**level
        ahead, behind = (_moved(reference, wide, direction, way) for way in (step, -step))
        before, slopes = slopes, _extrapolated((ahead - behind) / (2.0 * step), slopes, 4.0)
        jumps = _extrapolated((ahead - 2.0 * middle + behind) / step, jumps, 2.0)
        for order in range(1, len(slopes)):
            found = slopes[order]
            gap = np.maximum(np.abs(found - slopes[order - 1]), np.abs(found - before[order - 1]))
            gap = gap + np.abs(jumps[-1]) + _ROUNDING * size / step
            better = gap < doubt
            best, doubt = np.where(better, found, best), np.where(better, gap, doubt)
    return Slope(best.astype(np.float64), doubt.astype(np.float64))


def _extrapolated(row: Array, before: Sequence[Array], factor: float) -> list[Array]:
    """Richardson's table, one step further; the error's powers of the step go up by two, from ``factor`` on."""
    found = [row]
    for older in before[:_ORDERS]:
        found.append((factor * found[-1] - older) / (factor - 1.0))
        factor *= 4.0
    return found


def _moved(reference: Reference, at: Arrays, direction: Arrays, step: float) -> Array:
    moved = {name: array + step * direction[name] if name in direction else array for name, array in at.items()}
    return _row([evaluation.value for evaluation in reference(moved)])


def _row(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.asarray(array).ravel() for array in arrays])


def _kappas(evaluations: Sequence[Evaluation]) -> list[Array]:
    return [np.broadcast_to(evaluation.kappa, np.shape(evaluation.value)) for evaluation in evaluations]


def gradient_error(found: Slope, direction: Arrays, cotangents: Sequence[Array], gradients: Arrays) -> float | None:
    """|<G, v> - <g, J v>| over the sum of the absolute terms of both; None where kinks leave J v uncertain."""
    cotangent = _row(cotangents)
    theirs = np.concatenate([(gradients[name] * direction[name]).ravel() for name in direction])
    ours = cotangent * found.values
    terms = np.abs(theirs).sum() + np.abs(ours).sum()
    if terms == 0.0:
        return 0.0
    if not np.abs(cotangent * found.doubt).sum() <= BOUND / 2.0 * terms:
        return None
    return float(np.abs(theirs.sum() - ours.sum()) / terms)


def draw_direction(
    arrays: Arrays, moved: Sequence[str], rng: np.random.Generator, share: float, *, relative: bool = False
) -> dict[str, Array]:
    """Moves of plus or minus 1 or 1/2 in a share of all numbers; dyadic, so that no sum with a step is rounded."""
    found = {}
    for name in moved:
        array = arrays[name]
        signs = rng.choice([-1.0, -0.5, 0.5, 1.0], array.shape)
        room = np.exp2(np.floor(np.log2(_room(array)))) if relative else 1.0
        found[name] = np.where(rng.random(array.shape) < share, signs * room, 0.0)
    return found


def _room(array: Array) -> Array:
    """How far numbers are from 0, and from 1 if they are below it."""
    return np.where(array < 1.0, np.minimum(array, np.abs(1.0 - array)), array) + 2.0**-60
