"""Bounds within which a search stays near to what users have: what fails there is somebody's fault."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.arrays import Arrays
from ...core.graph import LayerGraph
from ...operators.reference.evaluate import declare_weights
from .genetic import Bounds

#: How far a weight may be from the mean of its array, in standard deviations; of equal ones, how far it may be.
_DEVIATIONS, _ALONE = 3.0, 1.5
#: Nothing that a trained network holds is a smaller variance.
_LEAST_VARIANCE = 1e-3


def realistic_bounds(graph: LayerGraph, weights: Arrays, inputs: Mapping[str, tuple[float, float]]) -> Bounds:
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
