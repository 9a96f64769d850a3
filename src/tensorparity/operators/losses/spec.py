"""What has to be said of a loss, and what several of them are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import axis_of
from ..reference.rounding import growth
from ..spec import Evaluation, Mask, Parameter, Params, ShapeError, ruled_out

#: Probabilities are kept this far from 0 and 1 before their logarithm is taken.
EPSILON = 1e-7

#: Reductions that divide by the number of samples; without weights they are names of one thing.
MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")
#: Every loss has it: how samples become one number. None and "none" keep them apart, which is no loss to train with:
#: ``LossSpec.each`` is what they give.
REDUCTION = Parameter("reduction", "sum_over_batch_size", (*MEANS, "sum"), ("product",))
#: Where the classes, or what a mean is taken of, are; 1 is not the last axis once there are positions.
AXIS = Parameter("axis", -1, (-1, 1), (7,))

#: Loss per sample and position, and its rounding.
PerSample = Callable[[Params, Array, Array], Evaluation]


@dataclass(frozen=True, slots=True)
class LossSpec:
    """One loss.

    Args:
        per_sample: from parameters, labels and predictions, both float64 (or integer labels).
        sparse: labels are class indices, without the axis of classes.
        task: ``classification`` or ``regression``.
        labels: ``classes`` (one of them is one), ``sequences`` (of classes, filled up with 0), ``binary``,
            ``distribution``, ``positive`` or ``values``.
        predictions: what the loss wants to be given: ``probabilities`` (of classes), ``chances`` (each its own),
            ``positive``, ``unit`` (vectors of length one) or ``values``.
        otherwise: the same with what guards it from infinities in another place, or without. That is documented nowhere
            and shows where it bites, often in gradients alone: either is right.
    """

    name: str
    api: str
    parameters: tuple[Parameter, ...]
    per_sample: PerSample
    formula: str
    sparse: bool = False
    task: str = "regression"
    labels: str = "values"
    predictions: str = "values"
    otherwise: PerSample | None = None

    def value(
        self, params: Params, labels: Array, predictions: Array, mask: Mask = None, *, otherwise: bool = False
    ) -> Evaluation:
        """The mean over all samples or, by ``reduction``, their sum, as a scalar; of what the mask shows."""
        each = self.each(params, labels, predictions, mask, otherwise=otherwise)
        if not each.value.size:
            return Evaluation(np.zeros(()), np.zeros(()))
        kappa = each.kappa + growth(each.value.size) * np.abs(each.value)
        reduce = np.sum if params.get(REDUCTION.name) == "sum" else np.mean
        return Evaluation(np.asarray(reduce(each.value)), np.asarray(reduce(kappa)))

    def invalid(self, params: Params) -> dict[str, Json]:
        """The parameters whose values the documentation rules out."""
        return ruled_out((REDUCTION, *self.parameters), params)

    def fits(self, params: Params, labels: Sequence[int], predictions: Sequence[int]) -> bool:
        """Whether labels of this shape can be held against predictions of that; axes of one at the end aside."""
        if self.labels == "sequences":  # class 0 stands for nothing, so that one class alone spells nothing
            return len(labels) == 2 and len(predictions) == 3 and labels[0] == predictions[0] and predictions[2] > 1
        wanted = list(predictions)
        if self.sparse and wanted:
            axis = params.get(AXIS.name, AXIS.default)
            del wanted[axis_of(axis, AXIS.name, len(wanted))]
        return _without_ones(labels) == _without_ones(wanted)

    def each(
        self, params: Params, labels: Array, predictions: Array, mask: Mask = None, *, otherwise: bool = False
    ) -> Evaluation:
        """The loss of every sample, before they are reduced; under a mask a list of those that count.

        Args:
            otherwise: in the other way that is right, where there is one.

        Raises:
            ShapeError: if the mask is not one of samples.
        """
        declared = (REDUCTION, *self.parameters)
        complete = {**{parameter.name: parameter.default for parameter in declared}, **params}
        if mask is not None and complete.get("ignore_class") is not None:
            raise ShapeError("Expected no mask beside ignore_class, which is another. Received: both")
        truth = labels if self.sparse else labels.astype(np.float64)
        with np.errstate(all="ignore"):
            per_sample = (self.otherwise if otherwise else None) or self.per_sample
            found = per_sample(complete, truth, predictions.astype(np.float64))
        if mask is None:
            return found
        if mask.shape != found.value.shape:
            raise ShapeError(f"Expected a mask of shape {found.value.shape}. Received: {mask.shape}")
        return Evaluation(found.value[mask], np.broadcast_to(found.kappa, mask.shape)[mask])


def _without_ones(shape: Sequence[int]) -> list[int]:
    kept = list(shape)
    while kept and kept[-1] == 1:
        kept.pop()
    return kept


def along_axis(per_sample: PerSample, *, sparse: bool = False) -> PerSample:
    """A loss over the last axis, taken over the one that ``axis`` names; sparse labels do not have it."""

    def moved(params: Params, labels: Array, predictions: Array) -> Evaluation:
        axis = axis_of(params[AXIS.name], AXIS.name, predictions.ndim)
        if axis == predictions.ndim - 1:
            return per_sample(params, labels, predictions)
        return per_sample(
            params, labels if sparse else np.moveaxis(labels, axis, -1), np.moveaxis(predictions, axis, -1)
        )

    return moved


def smoothed(params: Params, labels: Array, share: float) -> Array:
    """Labels moved towards ``share`` by ``label_smoothing``."""
    smoothing = float(params["label_smoothing"])
    return labels * (1.0 - smoothing) + share * smoothing if smoothing else labels


def mean_last(each: Evaluation) -> Evaluation:
    """The mean over the last axis, with its rounding."""
    terms = growth(each.value.shape[-1])
    return Evaluation(
        np.mean(each.value, axis=-1), np.mean(each.kappa, axis=-1) + terms * np.mean(np.abs(each.value), axis=-1)
    )


def binary_probabilities(truth: Array, predictions: Array) -> Evaluation:
    """Minus the logarithm of the chance given to the truth, elementwise."""
    p = np.clip(predictions, EPSILON, 1.0 - EPSILON)
    yes, no = truth * np.log(p), (1.0 - truth) * np.log1p(-p)
    # The upper limit is rounded at the size of 1, which is all of 1 - p there; below it, 1 - p is exact.
    limit = np.where(predictions > 1.0 - EPSILON, 1.0 / EPSILON, 1.0)
    kappa = np.abs(yes) + np.abs(no) + np.abs(truth) + np.abs(1.0 - truth) * limit
    return Evaluation(-(yes + no), kappa)


def binary_logits(truth: Array, x: Array) -> Evaluation:
    """The same of the chance's logit, where nothing has to be kept from 0 and 1."""
    value = np.maximum(x, 0.0) - x * truth + np.log1p(np.exp(-np.abs(x)))
    kappa = np.maximum(x, 0.0) + np.abs(x * truth) + np.log1p(np.exp(-np.abs(x)))
    return Evaluation(value, kappa)
