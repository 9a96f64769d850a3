"""A loss that is called with weights of its samples: each loss times its weight, then reduced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..reference.rounding import growth
from ..spec import Evaluation, Parameter, Params, ShapeError
from .catalogue import LOSSES
from .spec import REDUCTION, LossSpec

PREFIX = "keras.losses."
#: Divides by the sum of the weights, and not by how many they are.
_BY_WEIGHT = "mean_with_sample_weight"
#: Two formulas that are right, this far apart, leave nothing to be held against.
_ALIKE = 1e-6


@dataclass(frozen=True)
class WeighedLoss:
    """The class of a loss as a function of labels, predictions and weights."""

    spec: LossSpec

    @property
    def api(self) -> str:
        return self.spec.api

    @property
    def formula(self) -> str:
        return f"{self.spec.formula}; each times its weight"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (REDUCTION, *self.spec.parameters)

    def invalid(self, params: Params) -> dict[str, Json]:
        return self.spec.invalid(params)

    def evaluate(self, params: Params, arrays: tuple[Array, ...]) -> Evaluation:
        """The true value of one call.

        Raises:
            ShapeError: if there is not a weight for each loss, or more than one value is right.
        """
        labels, predictions, weights = arrays
        each = self.each(params, labels, predictions)
        if weights.shape != each.value.shape:
            raise ShapeError(f"Expected weights of shape {each.value.shape}. Received: {weights.shape}")
        return _reduced(str(params.get(REDUCTION.name, REDUCTION.default)), each, weights.astype(np.float64))

    def each(self, params: Params, labels: Array, predictions: Array) -> Evaluation:
        """The losses before they are weighed.

        Raises:
            ShapeError: where two formulas give two values, or what is ignored is weighed once more.
        """
        found = self.spec.each(params, labels, predictions)
        other = self.spec.each(params, labels, predictions, otherwise=True)
        if params.get("ignore_class") is not None:
            raise ShapeError("Expected weights or a class to ignore. Received: both")
        if not np.allclose(found.value, other.value, rtol=_ALIKE, atol=0.0, equal_nan=True):
            raise ShapeError("Expected losses of one value. Received: losses of which two are right")
        return found


def _reduced(reduction: str, each: Evaluation, weights: Array) -> Evaluation:
    value = each.value * weights
    kappa = each.kappa * np.abs(weights) + np.abs(value)
    if reduction in ("None", "none"):
        return Evaluation(value, kappa)
    total, rounded = value.sum(), kappa.sum() + growth(value.size) * np.abs(value).sum()
    if reduction == "sum":
        return Evaluation(np.asarray(total), np.asarray(rounded))
    count = weights.sum() if reduction == _BY_WEIGHT else float(value.size)
    if count == 0.0:
        return Evaluation(np.zeros(()), np.zeros(()))
    # the sum of the weights is rounded, too
    own = growth(weights.size) * abs(total) if reduction == _BY_WEIGHT else 0.0
    return Evaluation(np.asarray(total / count), np.asarray((rounded + own) / abs(count)))


WEIGHED: dict[str, WeighedLoss] = {spec.name: WeighedLoss(spec) for spec in LOSSES.values()}


def weighed_loss_of(api: str) -> WeighedLoss | None:
    """The loss that a call names, if it names one."""
    return WEIGHED.get(api.removeprefix(PREFIX)) if api.startswith(PREFIX) else None
