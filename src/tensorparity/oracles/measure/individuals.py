"""What Audee measures of every row of a population: labels, layer distance, spread of the logits, NaN."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array, is_floating
from ...core.graph import LayerGraph, output_name
from ...core.outcome import Outcome
from .distances import as_classes

#: Names of the measures of a population, one number per row.
DISTANCE, RANGE, OTHER_LABEL, NAN = "layer-distance", "logits-range", "other-label", "nan"
#: A distance that says nothing: neither side has numbers, so there is no label to compare.
NO_DISTANCE = -1.0


def pair_name(a: str, b: str) -> str:
    return f"{a}|{b}"


def row_distances(a: Array, b: Array) -> Array:
    """Definition 4 of every row: the mean absolute difference; infinite where one side alone is not finite."""
    rows_a, rows_b = (_rows(array) for array in (a, b))
    with np.errstate(all="ignore"):
        found: Array = np.abs(rows_a - rows_b).mean(axis=1)
    wrong_a, wrong_b = (~np.isfinite(rows).all(axis=1) for rows in (rows_a, rows_b))
    found[wrong_a ^ wrong_b] = np.inf
    found[wrong_a & wrong_b] = NO_DISTANCE
    return found


def row_ranges(array: Array) -> Array:
    """Max minus min of every row (the NaN fitness of section 2.4.4); infinite where it is no number."""
    rows = _rows(array)
    with np.errstate(all="ignore"):
        found: Array = rows.max(axis=1) - rows.min(axis=1)
    found[~np.isfinite(found)] = np.inf
    return found


def row_labels(array: Array) -> Array | None:
    """The class of every row (Definition 1); None of what is no classifier's."""
    classes = as_classes(np.asarray(array))
    return None if classes is None else classes.argmax(axis=1)


def row_margins(answer: Array, watched: Array) -> Array | None:
    """How far the label of every row is ahead of the next one, in the logits where they are looked at.

    None of what is no classifier's; what has no numbers is infinitely far from another label.
    """
    if watched.ndim == 2 and watched.shape[1] > 1:
        classes: Array | None = watched
    else:  # one number that nothing squashed is no chance of a class
        classes = None if answer is watched else as_classes(np.asarray(answer))
    if classes is None:
        return None
    second, first = np.partition(_rows(classes), -2, axis=1)[:, -2:].T
    with np.errstate(all="ignore"):
        found: Array = first - second
    return np.where(np.isfinite(found), found, np.inf)


def rows_with_nan(*arrays: Array) -> Array:
    floats = [array for array in arrays if is_floating(array.dtype.name)]
    found: Array = np.zeros(len(arrays[0]), dtype=bool)
    for array in floats:
        found[np.isnan(_rows(array)).any(axis=1)] = True
    return found


def is_finite_row(array: Array) -> Array:
    found: Array = np.asarray(np.isfinite(_rows(array)).all(axis=1))
    return found


def _rows(array: Array) -> Array:
    return array.reshape(len(array), -1).astype(np.float64)


def other_labels(a: Array, b: Array) -> Array:
    """Definition 2 by row: another label, where both sides have numbers."""
    label_a, label_b = row_labels(a), row_labels(b)
    if label_a is None or label_b is None:
        return np.zeros(len(a), dtype=bool)
    found: Array = np.asarray(label_a != label_b) & is_finite_row(a) & is_finite_row(b)
    return found


def outputs_looked_at(graph: LayerGraph) -> tuple[str, str]:
    """The first output of the graph is the answer, the last the layer that is looked at."""
    names = [output_name(ref) for ref in graph.outputs]
    return names[0], names[-1]


def outputs_of_file(outcomes: Mapping[str, Outcome]) -> tuple[str, str] | None:
    """Of a file, the first output with numbers is both; None where nobody completed it."""
    done = next((outcome for outcome in outcomes.values() if outcome.completed), None)
    floats = [name for name, array in done.outputs.items() if is_floating(array.dtype.name)] if done else []
    return (floats[0], floats[0]) if floats else None


def measure_rows(
    names: tuple[str, str], outcomes: Mapping[str, Outcome], rows: int
) -> dict[str, dict[str, list[float]]]:
    """All measures of a population that some targets have completed.

    Args:
        names: of the output that is the answer, and of the one that is looked at.
    """
    label, watched = names
    done = {target: outcome for target, outcome in outcomes.items() if _has_rows(outcome, names, rows)}
    found: dict[str, dict[str, list[float]]] = {DISTANCE: {}, OTHER_LABEL: {}, RANGE: {}, NAN: {}}
    # one number that nothing squashed is no chance of a class
    plain = label == watched and any(outcome.outputs[label].shape[1:] == (1,) for outcome in done.values())
    for target, outcome in done.items():
        outputs = outcome.outputs
        found[RANGE][target] = row_ranges(outputs[watched]).tolist()
        found[NAN][target] = rows_with_nan(outputs[label], outputs[watched]).astype(float).tolist()
    for (a, one), (b, other) in itertools.combinations(done.items(), 2):
        pair = pair_name(a, b)
        found[DISTANCE][pair] = row_distances(one.outputs[watched], other.outputs[watched]).tolist()
        parted = np.zeros(rows) if plain else other_labels(one.outputs[label], other.outputs[label])
        found[OTHER_LABEL][pair] = parted.astype(float).tolist()
    return {name: by_target for name, by_target in found.items() if by_target}


def _has_rows(outcome: Outcome, names: Sequence[str], rows: int) -> bool:
    outputs = outcome.outputs
    return outcome.completed and all(name in outputs and len(outputs[name]) == rows for name in names)
