"""Losses: the documented value in float64, averaged over samples (``sum_over_batch_size``)."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.errors import UsageError
from ...core.procedure import Recipe
from ..functions import named_activations
from ..reference.rounding import exact, growth
from ..spec import Evaluation, Mask, Parameter, Params
from .classification import CLASSIFICATION_LOSSES
from .regression import REGRESSION_LOSSES
from .spec import (
    AXIS,
    EPSILON,
    MEANS,
    LossSpec,
    along_axis,
    binary_logits,
    binary_probabilities,
    mean_last,
    smoothed,
)
from .structured import STRUCTURED_LOSSES

_FROM_LOGITS = Parameter("from_logits", False, (False, True))
_SMOOTHING = Parameter("label_smoothing", 0.0, (0.0, 0.1), ("much",))


def _squared(params: Params, labels: Array, predictions: Array) -> Evaluation:
    difference = predictions - labels
    # Rounding the difference by u |difference| changes the square by twice that, relatively.
    return mean_last(Evaluation(np.square(difference), 2.0 * np.square(difference)))


def _absolute(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return mean_last(exact(np.abs(predictions - labels)))


def _binary(params: Params, labels: Array, predictions: Array) -> Evaluation:
    truth = smoothed(params, labels, 0.5)
    each = binary_logits if params["from_logits"] else binary_probabilities
    return mean_last(each(truth, predictions))


def _log_probabilities(params: Params, predictions: Array) -> Evaluation:
    """Logarithms of the classes' probabilities; probabilities are first made to sum to one."""
    if params["from_logits"]:
        return named_activations.log_softmax(exact(predictions))
    total = np.sum(predictions, axis=-1, keepdims=True)
    p = np.clip(predictions / total, EPSILON, 1.0 - EPSILON)
    # Clipping moves the sum by EPSILON per class; some backends divide by it once more.
    terms = growth(p.shape[-1]) + p.shape[-1] + 1.0
    return Evaluation(np.log(p), np.abs(np.log(p)) + terms)


def _categorical(params: Params, labels: Array, predictions: Array) -> Evaluation:
    truth = smoothed(params, labels, 1.0 / labels.shape[-1])
    logs = _log_probabilities(params, predictions)
    terms, weight = growth(labels.shape[-1]), np.abs(truth)
    kappa = np.sum(weight * (logs.kappa + terms * np.abs(logs.value)), axis=-1)
    return Evaluation(-np.sum(truth * logs.value, axis=-1), kappa)


def _guarded_first(params: Params, predictions: Array) -> Evaluation:
    """The same, with probabilities kept from 0 and 1 before they are made to sum to one."""
    if params["from_logits"]:
        return _log_probabilities(params, predictions)
    p = np.clip(predictions, EPSILON, 1.0 - EPSILON)
    value = np.log(p) - np.log(np.sum(p, axis=-1, keepdims=True))
    return Evaluation(value, np.abs(value) + growth(p.shape[-1]) + p.shape[-1] + 1.0)


def _sparse(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _labelled(params, labels, _log_probabilities(params, predictions))


def _sparse_guarded_first(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _labelled(params, labels, _guarded_first(params, predictions))


def _labelled(params: Params, labels: Array, logs: Evaluation) -> Evaluation:
    """Minus the logarithm of the labelled class."""
    given = labels.astype(np.int64).reshape(*logs.value.shape[:-1], 1)
    counted = given[..., 0] != params["ignore_class"]
    index = np.where(counted[..., None], given, 0)  # one that is ignored need not be a class
    kappa = np.broadcast_to(logs.kappa, logs.value.shape)
    value, kappa = (np.take_along_axis(x, index, axis=-1)[..., 0] for x in (-logs.value, kappa))
    if counted.all():
        return Evaluation(value, kappa)
    # What is ignored does not count: the mean is over the others.
    share = counted.size / max(np.count_nonzero(counted), 1) if params["reduction"] in MEANS else 1.0
    return Evaluation(np.where(counted, value * share, 0.0), np.where(counted, kappa * share, 0.0))


_CROSS_ENTROPIES_AND_NORMS = (
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
        (_FROM_LOGITS, _SMOOTHING, AXIS),
        along_axis(_binary),
        "the mean over the axis of -(label log p + (1 - label) log(1 - p)), p the sigmoid of logits",
        task="classification",
        labels="binary",
        predictions="chances",
    ),
    LossSpec(
        "CategoricalCrossentropy",
        "keras.losses.CategoricalCrossentropy",
        (_FROM_LOGITS, _SMOOTHING, AXIS),
        along_axis(_categorical),
        "minus the sum over classes of label log p, p the softmax of logits or the normalized prediction",
        task="classification",
        labels="classes",
        predictions="probabilities",
    ),
    LossSpec(
        "SparseCategoricalCrossentropy",
        "keras.losses.SparseCategoricalCrossentropy",
        (_FROM_LOGITS, Parameter("ignore_class", None, (None, 1, -1)), AXIS),
        along_axis(_sparse, sparse=True),
        "minus log p of the labelled class, p the softmax of logits or the normalized prediction; samples of the class "
        "to ignore do not count",
        sparse=True,
        task="classification",
        labels="classes",
        predictions="probabilities",
        otherwise=along_axis(_sparse_guarded_first, sparse=True),
    ),
)


LOSSES: dict[str, LossSpec] = {
    spec.name: spec
    for spec in (*_CROSS_ENTROPIES_AND_NORMS, *REGRESSION_LOSSES, *CLASSIFICATION_LOSSES, *STRUCTURED_LOSSES)
}


def loss(name: str) -> LossSpec:
    """The declaration of a loss.

    Raises:
        UsageError: if there is none of that name.
    """
    if name not in LOSSES:
        raise UsageError(f"unknown loss {name!r}; known are {', '.join(LOSSES)}")
    return LOSSES[name]


def evaluate_loss(
    recipe: Recipe, labels: Array, predictions: Array, mask: Mask = None, *, otherwise: bool = False
) -> Evaluation:
    """The float64 value of the loss a procedure names, on arrays of the dtype under test.

    Args:
        mask: of the predictions; what it hides does not count.
        otherwise: in the other way that is right, where there is one.
    """
    return loss(recipe.name).value(recipe.params, labels, predictions, mask, otherwise=otherwise)


def told_twice(recipe: Recipe) -> bool:
    """Whether there are two ways to compute the loss, and either is right."""
    return loss(recipe.name).otherwise is not None
