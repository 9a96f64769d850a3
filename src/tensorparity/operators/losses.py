"""Losses: the documented value in float64, averaged over samples (``sum_over_batch_size``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.errors import UsageError
from ..core.procedure import Recipe
from . import functions
from .rounding import exact, growth
from .spec import Evaluation, Parameter, Params

#: Probabilities are kept this far from 0 and 1 before their logarithm is taken.
EPSILON = 1e-7

#: Loss per sample and position, and its rounding.
PerSample = Callable[[Params, Array, Array], Evaluation]


@dataclass(frozen=True, slots=True)
class LossSpec:
    """One loss.

    Args:
        per_sample: from parameters, labels and predictions, both float64 (or integer labels).
        sparse: labels are class indices, without the axis of classes.
        task: ``classification`` or ``regression``.
        labels: ``classes`` (one of them is one), ``binary``, ``distribution``, ``positive`` or ``values``.
        predictions: what the loss wants to be given: ``probabilities`` (of classes), ``chances`` (each its own),
            ``positive`` or ``values``.
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

    def value(self, params: Params, labels: Array, predictions: Array) -> Evaluation:
        """The mean over all samples, as a scalar."""
        each = self._evaluate(params, labels, predictions)
        kappa = each.kappa + growth(each.value.size) * np.abs(each.value)
        return Evaluation(np.asarray(np.mean(each.value)), np.asarray(np.mean(kappa)))

    def each(self, params: Params, labels: Array, predictions: Array) -> Array:
        """The loss of every sample, before the mean."""
        return self._evaluate(params, labels, predictions).value

    def _evaluate(self, params: Params, labels: Array, predictions: Array) -> Evaluation:
        complete = {**{parameter.name: parameter.default for parameter in self.parameters}, **params}
        truth = labels if self.sparse else labels.astype(np.float64)
        with np.errstate(all="ignore"):
            return self.per_sample(complete, truth, predictions.astype(np.float64))


_FROM_LOGITS = Parameter("from_logits", False, (False, True))
_SMOOTHING = Parameter("label_smoothing", 0.0, (0.0, 0.1))


def _mean_last(each: Evaluation) -> Evaluation:
    terms = growth(each.value.shape[-1])
    return Evaluation(
        np.mean(each.value, axis=-1), np.mean(each.kappa, axis=-1) + terms * np.mean(np.abs(each.value), axis=-1)
    )


def _squared(params: Params, labels: Array, predictions: Array) -> Evaluation:
    difference = predictions - labels
    # Rounding the difference by u |difference| changes the square by twice that, relatively.
    return _mean_last(Evaluation(np.square(difference), 2.0 * np.square(difference)))


def _absolute(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _mean_last(exact(np.abs(predictions - labels)))


def _binary(params: Params, labels: Array, predictions: Array) -> Evaluation:
    smoothing = params["label_smoothing"]
    truth = labels * (1.0 - smoothing) + 0.5 * smoothing if smoothing else labels
    each = _binary_logits if params["from_logits"] else _binary_probabilities
    return _mean_last(each(truth, predictions))


def _binary_logits(truth: Array, x: Array) -> Evaluation:
    value = np.maximum(x, 0.0) - x * truth + np.log1p(np.exp(-np.abs(x)))
    kappa = np.maximum(x, 0.0) + np.abs(x * truth) + np.log1p(np.exp(-np.abs(x)))
    return Evaluation(value, kappa)


def _binary_probabilities(truth: Array, predictions: Array) -> Evaluation:
    p = np.clip(predictions, EPSILON, 1.0 - EPSILON)
    yes, no = truth * np.log(p), (1.0 - truth) * np.log1p(-p)
    # 1 - p is rounded at the size of 1, which near p = 1 is all of it.
    kappa = np.abs(yes) + np.abs(no) + np.abs(truth) + np.abs(1.0 - truth) / (1.0 - p)
    return Evaluation(-(yes + no), kappa)


def _log_probabilities(params: Params, predictions: Array) -> Evaluation:
    """Logarithms of the classes' probabilities; probabilities are first made to sum to one."""
    if params["from_logits"]:
        return functions.log_softmax(exact(predictions))
    total = np.sum(predictions, axis=-1, keepdims=True)
    p = np.clip(predictions / total, EPSILON, 1.0 - EPSILON)
    # Clipping moves the sum by EPSILON per class; some backends divide by it once more.
    terms = growth(p.shape[-1]) + p.shape[-1] + 1.0
    return Evaluation(np.log(p), np.abs(np.log(p)) + terms)


def _categorical(params: Params, labels: Array, predictions: Array) -> Evaluation:
    smoothing = params["label_smoothing"]
    truth = labels * (1.0 - smoothing) + smoothing / labels.shape[-1] if smoothing else labels
    logs = _log_probabilities(params, predictions)
    terms, weight = growth(labels.shape[-1]), np.abs(truth)
    kappa = np.sum(weight * (logs.kappa + terms * np.abs(logs.value)), axis=-1)
    return Evaluation(-np.sum(truth * logs.value, axis=-1), kappa)


def _categorical_hinge(params: Params, labels: Array, predictions: Array) -> Evaluation:
    right = np.sum(labels * predictions, axis=-1)
    wrong = np.max((1.0 - labels) * predictions, axis=-1)
    kappa = np.abs(wrong) + growth(labels.shape[-1]) * np.sum(np.abs(labels * predictions), axis=-1) + 1.0
    return Evaluation(np.maximum(wrong - right + 1.0, 0.0), kappa)


def _sparse(params: Params, labels: Array, predictions: Array) -> Evaluation:
    index = labels.astype(np.int64).reshape(*predictions.shape[:-1], 1)
    logs = _log_probabilities(params, predictions)
    kappa = np.broadcast_to(logs.kappa, predictions.shape)
    return Evaluation(
        -np.take_along_axis(logs.value, index, axis=-1)[..., 0], np.take_along_axis(kappa, index, axis=-1)[..., 0]
    )


LOSSES: dict[str, LossSpec] = {
    spec.name: spec
    for spec in (
        LossSpec(
            "MeanSquaredError",
            "keras.losses.MeanSquaredError",
            (),
            _squared,
            "the mean over the last axis of (prediction - label)^2",
        ),
        LossSpec(
            "MeanAbsoluteError",
            "keras.losses.MeanAbsoluteError",
            (),
            _absolute,
            "the mean over the last axis of |prediction - label|",
        ),
        LossSpec(
            "BinaryCrossentropy",
            "keras.losses.BinaryCrossentropy",
            (_FROM_LOGITS, _SMOOTHING),
            _binary,
            "the mean over the last axis of -(label log p + (1 - label) log(1 - p)), p the sigmoid of logits",
            task="classification",
            labels="binary",
            predictions="chances",
        ),
        LossSpec(
            "CategoricalCrossentropy",
            "keras.losses.CategoricalCrossentropy",
            (_FROM_LOGITS, _SMOOTHING),
            _categorical,
            "minus the sum over classes of label log p, p the softmax of logits or the normalized prediction",
            task="classification",
            labels="classes",
            predictions="probabilities",
        ),
        LossSpec(
            "SparseCategoricalCrossentropy",
            "keras.losses.SparseCategoricalCrossentropy",
            (_FROM_LOGITS,),
            _sparse,
            "minus log p of the labelled class, p the softmax of logits or the normalized prediction",
            sparse=True,
            task="classification",
            labels="classes",
            predictions="probabilities",
        ),
        LossSpec(
            "CategoricalHinge",
            "keras.losses.CategoricalHinge",
            (),
            _categorical_hinge,
            "max(neg - pos + 1, 0), neg the maximum of (1 - label) prediction and pos the sum of label prediction",
        ),
    )
}


def loss(name: str) -> LossSpec:
    """The declaration of a loss.

    Raises:
        UsageError: if there is none of that name.
    """
    if name not in LOSSES:
        raise UsageError(f"unknown loss {name!r}; known are {', '.join(LOSSES)}")
    return LOSSES[name]


def evaluate_loss(recipe: Recipe, labels: Array, predictions: Array) -> Evaluation:
    """The float64 value of the loss a procedure names, on arrays of the dtype under test."""
    return loss(recipe.name).value(recipe.params, labels, predictions)
