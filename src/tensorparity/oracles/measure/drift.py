"""How far several trainings of one model drift apart: weight by weight, step by step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.channels import distance, is_finite, magnitude
from ...core.outcome import Outcome
from ...core.training import LayerDrift, Parting, Training

#: Trainings have parted where weights differ by more than this share of how far they have moved.
PARTED = 1e-3
#: Losses differ where they are apart by more than this share of the larger: weights that are together explain less.
LOSSES_PARTED = 1e-2
#: Units of a weight's own roundoff below which a movement is noise.
_NOISE = 64 * 2.0**-24


def compare_trainings(outcomes: Sequence[Outcome], start: Arrays, steps: int) -> Training:
    """The trainings that completed, side by side.

    Args:
        outcomes: of ``Goal.FIT``, all completed.
        start: the weights they all began with.
    """
    losses = {outcome.target: outcome.trace.losses for outcome in outcomes}
    pairs = list(itertools.combinations(outcomes, 2))
    partings: list[Parting] = []
    parted: dict[str, int] = {}
    for a, b in pairs:
        apart = [(step, name, share) for step, name, share in shares_of_movement(a, b, start, steps) if share > PARTED]
        if apart:
            partings.append(Parting(a.target, b.target, *apart[0]))
        for step, name, _ in apart:
            layer = _layer(name)
            parted[layer] = min(step, parted.get(layer, step))
    drift = _drift(pairs, steps) if pairs else ()
    return Training(steps, PARTED, losses, drift, tuple(partings), _layers(pairs, steps, parted))


def shares_of_movement(a: Outcome, b: Outcome, start: Arrays, steps: int) -> Iterator[tuple[int, str, float]]:
    """Per step (from 1) and weight that both have: the difference as a share of how far the weight has moved."""
    names = _names(a, b)
    for step in range(steps):
        for name in names:
            first, second = _weight(a, step, name), _weight(b, step, name)
            yield step + 1, name, _share_of_movement(first, second, start.get(name))


@dataclass(frozen=True, slots=True)
class LossParting:
    """The first step (from 1) before which two losses differ, and by which share of the larger."""

    step: int
    a: float
    b: float
    apart: float


def losses_part(a: Sequence[float], b: Sequence[float]) -> LossParting | None:
    """Where two loss curves part, if they do; what is no number is equal only to itself."""
    for step, (first, second) in enumerate(zip(a, b, strict=False), start=1):
        if first == second or (math.isnan(first) and math.isnan(second)):
            continue
        finite = math.isfinite(first) and math.isfinite(second)
        apart = abs(first - second) / max(abs(first), abs(second)) if finite else math.inf
        if apart > LOSSES_PARTED:
            return LossParting(step, first, second, apart)
    return None


def _share_of_movement(a: Array, b: Array, before: Array | None) -> float:
    if a.shape != b.shape:
        return float("inf")
    origin = np.zeros_like(a) if before is None else before
    difference = _greatest(distance(a, b))
    moved = max(_greatest(distance(a, origin)), _greatest(distance(b, origin)))
    floor = _NOISE * _greatest(magnitude(origin))
    if difference <= floor:
        return 0.0
    return difference / max(moved, floor) if np.isfinite(difference) else float("inf")


def _greatest(values: Array) -> float:
    return float(values.max(initial=0.0))


def _layers(pairs: Sequence[tuple[Outcome, Outcome]], steps: int, parted: dict[str, int]) -> tuple[LayerDrift, ...]:
    """Per layer, the weight and the pair that are furthest apart after the last step."""
    found: dict[str, LayerDrift] = {}
    for a, b in pairs:
        for name in _names(a, b):
            layer = _layer(name)
            difference = _relative(_weight(a, steps - 1, name), _weight(b, steps - 1, name))
            if layer not in found or difference > found[layer].difference:
                found[layer] = LayerDrift(layer, name, difference, a.target, b.target, parted.get(layer))
    return tuple(found.values())


def _drift(pairs: Sequence[tuple[Outcome, Outcome]], steps: int) -> tuple[float, ...]:
    largest = [0.0] * steps
    for a, b in pairs:
        for name in _names(a, b):
            for step in range(steps):
                largest[step] = max(largest[step], _relative(_weight(a, step, name), _weight(b, step, name)))
    return tuple(largest)


def _relative(a: Array, b: Array) -> float:
    """The largest difference over the largest magnitude; infinite where only one side is finite, or has that shape."""
    if a.shape != b.shape:
        return float("inf")
    difference = _greatest(distance(a, b))
    if difference == 0.0 or not np.isfinite(difference):
        return difference
    scale = max(_greatest(np.where(is_finite(side), magnitude(side), 0.0)) for side in (a, b))
    return difference / scale if scale else float("inf")


def _names(a: Outcome, b: Outcome) -> list[str]:
    """The weights that both have, in the order of the model."""
    first = "0:"
    return [key[len(first) :] for key in a.trace.weights if key.startswith(first) and key in b.trace.weights]


def _weight(outcome: Outcome, step: int, name: str) -> Array:
    return outcome.trace.weights[f"{step}:{name}"]


def _layer(name: str) -> str:
    return name.partition("/")[0]
