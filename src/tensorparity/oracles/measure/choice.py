"""Which inputs the layers are looked at with: one per unique inconsistency, one per pair, then the next worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.channels import is_text
from ...core.comparison import Comparison
from ...core.outcome import Outcome
from ...core.verdict import Judgement
from .distances import METRICS, TOP_K, as_classes, leading_distance, unique_inconsistencies
from .roundoff import scaled_difference

#: Without labels, an instance whose outputs differ by more than this share of their scale is different to a user.
_DIFFERENT = 1e-2


def choose_inputs(
    comparisons: Sequence[Comparison],
    outcomes: Mapping[str, Outcome],
    labels: Arrays,
    k: int = TOP_K,
    metric: str = METRICS[0],
) -> list[int]:
    """Indices of instances, the most telling first; none where no pair differs.

    CRADLE's are first: the most inconsistent input of each unique inconsistency. Then the most different input of
    each pair that is not equal, and then whatever else triggers an inconsistency, by distance.
    """
    different = [c for c in comparisons if c.worst_input is not None and c.verdict.judgement is not Judgement.PASS]
    different.sort(key=lambda comparison: -(comparison.max_rel or 0.0))
    first = inputs_of_patterns(comparisons)
    each = [comparison.worst_input for comparison in different]
    further = _further(different, outcomes, labels, k, metric)
    return list(dict.fromkeys(index for index in (*first, *each, *further) if index is not None))


def inputs_of_patterns(comparisons: Sequence[Comparison]) -> list[int]:
    """The most inconsistent input of each unique inconsistency, by CRADLE's distance."""
    found = (comparison.worst_input for comparison in _one_per_pattern(comparisons))
    return list(dict.fromkeys(index for index in found if index is not None))


def _one_per_pattern(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Of each unique inconsistency the pair that shows it most clearly, the largest distance first."""
    named = {str(place): comparison for place, comparison in enumerate(comparisons) if comparison.distances}
    groups = unique_inconsistencies((name, comparison.distances[0]) for name, comparison in named.items())
    clearest = [max((named[name] for name in names), key=_clarity) for names in groups.values()]
    return sorted(clearest, key=_clarity, reverse=True)


def _clarity(comparison: Comparison) -> tuple[float, float]:
    return comparison.distances[0].largest, comparison.max_rel or 0.0


def _further(
    comparisons: Sequence[Comparison], outcomes: Mapping[str, Outcome], labels: Arrays, k: int, metric: str
) -> list[int]:
    """Every other instance that triggers, by its distance and then by how different it is."""
    found: list[tuple[float, float, int]] = []
    for comparison in comparisons:
        a, b = (outcomes[target].outputs.get(comparison.output) for target in (comparison.a, comparison.b))
        if a is None or b is None or a.shape != b.shape or not a.ndim:
            continue
        scaled = scaled_difference(a, b)
        distance, triggers = _triggering_inputs(comparison, a, b, labels.get(comparison.output), scaled, k, metric)
        found += [(float(distance[i]), float(scaled[i]), int(i)) for i in np.flatnonzero(triggers)]
    return [index for *_, index in sorted(found, key=lambda item: (-item[0], -item[1], item[2]))]


def _triggering_inputs(
    comparison: Comparison, a: Array, b: Array, labels: Array | None, scaled: Array, k: int, metric: str
) -> tuple[Array, Array]:
    """Distances, and who triggers: by the threshold; without labels by another arg max or a large difference."""
    if labels is not None and comparison.distances:
        distance = leading_distance(a.astype(np.float64), b.astype(np.float64), labels, k, metric)
        return distance, distance >= comparison.distances[0].threshold
    classes = None if is_text(a) or is_text(b) else (as_classes(a), as_classes(b))
    if classes and classes[0] is not None and classes[1] is not None and a.shape[1] > 1:
        turned = classes[0].argmax(axis=1) != classes[1].argmax(axis=1)
        return scaled, turned | (scaled > _DIFFERENT)
    return scaled, scaled > _DIFFERENT
