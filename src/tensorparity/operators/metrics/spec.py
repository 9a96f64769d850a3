"""What has to be said of a metric, and what several of them are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..reference.rounding import growth
from ..spec import Evaluation, Parameter, Params, ruled_out

#: Added to denominators by the formulas that say so.
EPSILON = 1e-7

#: The value from parameters, labels, predictions and weights (or None).
Reference = Callable[[Params, Array, Array, Array | None], Evaluation]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric.

    Args:
        labels: ``classes`` (one of them is one), ``indices`` (of classes), ``binary``, ``distribution``, ``positive``
            or ``values``; empty for a metric of numbers alone, which are then its predictions.
        predictions: ``probabilities``, ``chances``, ``logits``, ``scores`` (any order of classes), ``indices``,
            ``positive`` or ``values``.
        needs: parameters that others need beside them, with what they have to be.
        by_element: weights may also be given for each prediction of a sample, in a tensor of the labels' rank.
        weights: what a weight belongs to: a ``sample``, an ``element``, ``whole`` numbers for samples, or nothing.
    """

    name: str
    parameters: tuple[Parameter, ...]
    reference: Reference
    formula: str
    labels: str = "values"
    predictions: str = "values"
    weights: str = "sample"
    needs: Mapping[str, Params] = field(default_factory=dict)
    by_element: bool = False

    @property
    def api(self) -> str:
        return f"keras.metrics.{self.name}"

    def fitting(self, params: Params) -> dict[str, Json]:
        """``params`` with what those need that are not at their default."""
        defaults = {parameter.name: parameter.default for parameter in self.parameters}
        needed = (self.needs[name] for name, value in params.items() if name in self.needs and value != defaults[name])
        return {**params, **{name: value for others in needed for name, value in others.items()}}

    def invalid(self, params: Params) -> dict[str, Json]:
        """The parameters whose values the documentation rules out."""
        return ruled_out(self.parameters, params)

    def evaluate(self, params: Params, arrays: tuple[Array, ...]) -> Evaluation:
        """The value of the metric after all samples, however many batches they came in."""
        complete = {**{parameter.name: parameter.default for parameter in self.parameters}, **params}
        truth = arrays[0]
        predictions = arrays[1] if self.labels else arrays[0]
        rest = arrays[2:] if self.labels else arrays[1:]
        with np.errstate(all="ignore"):
            return self.reference(complete, truth, predictions, rest[0] if rest else None)


def weighted_mean(each: Evaluation, weights: Array | None) -> Evaluation:
    """The mean of all entries, each as often as its weight says, or its sample's; of nothing it is 0."""
    if weights is not None:
        weights = weights.reshape(*weights.shape, *[1] * (each.value.ndim - weights.ndim))
    w = np.ones(each.value.shape) if weights is None else np.broadcast_to(weights, each.value.shape).astype(float)
    total = float(np.sum(w))
    if total == 0.0:
        return Evaluation(np.zeros(()), np.zeros(()))
    value = np.sum(w * each.value) / total
    size = np.sum(np.abs(w) * (each.kappa + growth(each.value.size) * np.abs(each.value))) / abs(total)
    return Evaluation(np.asarray(value), np.asarray(size + abs(value)))


def ratio(top: Array, bottom: Array) -> Array:
    """The quotient, 0 where nothing is below."""
    return np.asarray(np.where(bottom == 0, 0.0, top / np.where(bottom == 0, 1.0, bottom)))


def rounded(value: Array | float, terms: int = 1) -> Evaluation:
    """A value made of a few roundings, and of sums of so many terms."""
    found = np.asarray(value, dtype=np.float64)
    return Evaluation(found, (6.0 + growth(terms)) * np.abs(found) + 1.0)
