"""Bounds within which a search stays near to what users have: what fails there is somebody's fault."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.graph import LayerGraph
from ...operators.reference.evaluate import declare_weights
from .exposed import movable_inputs, without_embeddings
from .genetic import Bounds, Limits

#: How far a weight may be from the mean of its array, in standard deviations; of equal ones, how far it may be.
_DEVIATIONS, _ALONE = 3.0, 1.5
#: Nothing that a trained network holds is a smaller variance.
_LEAST_VARIANCE = 1e-3
#: Why nobody is to blame for what fails outside of the bounds.
NEGATIVE_VARIANCE, FAR_WEIGHTS, FAR_INPUTS = "negative variance", "weights out of range", "inputs out of range"
CAUSES = (NEGATIVE_VARIANCE, FAR_WEIGHTS, FAR_INPUTS)


def realistic_bounds(graph: LayerGraph, weights: Arrays, inputs: Mapping[str, Limits]) -> Bounds:
    """Inputs in the range of the data, weights within three standard deviations and in their domain.

    Args:
        inputs: by name, the least and the greatest number of the data.
    """
    found = {}
    for name, spec in declare_weights(graph).items():
        array = weights[name]
        middle, reach = float(array.mean()), _DEVIATIONS * float(array.std()) or _ALONE
        low = middle - reach
        found[name] = (max(low, _LEAST_VARIANCE) if spec.role == "variance" else low, middle + reach)
    return Bounds(dict(inputs), found)


def data_range(inputs: Arrays) -> dict[str, Limits]:
    """By input, the least and the greatest number of the data; of a table, those of every column."""
    found: dict[str, Limits] = {}
    for name, array in inputs.items():
        if array.ndim == 2 and len(array) > 1:
            found[name] = (np.asarray(array.min(axis=0)), np.asarray(array.max(axis=0)))
        elif array.size:
            found[name] = (float(array.min()), float(array.max()))
    return found


def range_of_model(graph: LayerGraph, weights: Arrays, inputs: Arrays) -> dict[str, Limits]:
    """The range of what a search moves: of the inputs, or of what embeddings give for the words that there are."""
    movable = movable_inputs(graph, inputs)
    few = {name: array if name in movable else np.unique(array)[None] for name, array in inputs.items()}
    behind, _, given = without_embeddings(graph, weights, few)
    moved = movable_inputs(behind, given)
    return data_range({name: array for name, array in given.items() if name in moved})


def why_outside(case: Case, before: Arrays, bounds: Bounds) -> str:
    """What of an individual lies out of bounds; empty where nothing does.

    Args:
        before: the weights that the search began with; what it left alone is as users have it.
    """
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    moved = {name: array for name, array in case.weights.items() if array is not before[name]}
    for name, spec in declare_weights(graph).items():
        if spec.role == "variance" and name in moved and bool(((moved[name] < 0) & (before[name] >= 0)).any()):
            return NEGATIVE_VARIANCE
    for name, array in moved.items():
        if name in bounds.weights and bool((_beyond(array, bounds.weights[name]) & (array != before[name])).any()):
            return FAR_WEIGHTS
    inputs = (_beyond(array, bounds.inputs[name]) for name, array in case.inputs.items() if name in bounds.inputs)
    return FAR_INPUTS if any(bool(beyond.any()) for beyond in inputs) else ""


def _beyond(array: Array, limits: Limits) -> Array:
    """Which numbers do not lie within; what is no number does not."""
    low, high = (np.asarray(limit, np.float32) for limit in limits)
    found: Array = ~((array >= low) & (array <= high))
    return found
