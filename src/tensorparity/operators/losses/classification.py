"""Losses of classes beside the cross-entropies: hinges, divergence, focal ones, overlaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth
from ..spec import Evaluation, Parameter, Params
from .spec import AXIS, EPSILON, LossSpec, along_axis, binary_logits, binary_probabilities, mean_last, smoothed


def _signs(labels: Array) -> Array:
    """Labels of 0 and 1 become -1 and 1; others stay."""
    return 2.0 * labels - 1.0 if np.isin(labels, (0.0, 1.0)).all() else labels


def _hinge(params: Params, labels: Array, predictions: Array) -> Evaluation:
    product = _signs(labels) * predictions
    return mean_last(Evaluation(np.maximum(1.0 - product, 0.0), 1.0 + np.abs(product)))


def _squared_hinge(params: Params, labels: Array, predictions: Array) -> Evaluation:
    product = _signs(labels) * predictions
    value = np.maximum(1.0 - product, 0.0)
    return mean_last(Evaluation(value**2, 2.0 * value * (1.0 + np.abs(product)) + value**2))


def _categorical_hinge(params: Params, labels: Array, predictions: Array) -> Evaluation:
    right = np.sum(labels * predictions, axis=-1)
    wrong = np.max((1.0 - labels) * predictions, axis=-1)
    size = growth(labels.shape[-1]) * np.sum(np.abs(labels * predictions), axis=-1)
    return Evaluation(np.maximum(wrong - right + 1.0, 0.0), 1.0 + size + np.abs(wrong))


def _divergence(params: Params, labels: Array, predictions: Array) -> Evaluation:
    truth, guess = np.clip(labels, EPSILON, 1.0), np.clip(predictions, EPSILON, 1.0)
    terms = truth * np.log(truth / guess)
    kappa = growth(labels.shape[-1]) * np.abs(terms) + 2.0 * truth
    return Evaluation(np.sum(terms, axis=-1), np.sum(kappa, axis=-1))


def _binary_focal(params: Params, labels: Array, predictions: Array) -> Evaluation:
    chances = 1.0 / (1.0 + np.exp(-predictions)) if params["from_logits"] else predictions
    return _focal(params, smoothed(params, labels, 0.5), chances, binary_probabilities)


def _binary_focal_of_logits(params: Params, labels: Array, predictions: Array) -> Evaluation:
    """TensorFlow finds the logits that a sigmoid was taken of, and then keeps nothing from 0 and 1."""
    if not params["from_logits"]:
        return _binary_focal(params, labels, predictions)
    chances = 1.0 / (1.0 + np.exp(-predictions))
    return _focal(params, smoothed(params, labels, 0.5), chances, lambda truth, _: binary_logits(truth, predictions))


def _focal(params: Params, labels: Array, chances: Array, entropy: Callable[[Array, Array], Evaluation]) -> Evaluation:
    each = entropy(labels, chances)
    missed = 1.0 - (labels * chances + (1.0 - labels) * (1.0 - chances))
    gamma = float(params["gamma"])
    factor = missed**gamma
    # 1 - p rounds at the size of 1; raised to a power, that counts so many times.
    loss_of_factor = gamma * np.abs(missed) ** max(gamma - 1.0, 0.0) * np.abs(each.value) * 2.0
    if params["apply_class_balancing"]:
        alpha = float(params["alpha"])
        factor = factor * (labels * alpha + (1.0 - labels) * (1.0 - alpha))
    return mean_last(Evaluation(factor * each.value, factor * each.kappa + loss_of_factor))


def _categorical_focal(params: Params, labels: Array, predictions: Array) -> Evaluation:
    labels = smoothed(params, labels, 1.0 / labels.shape[-1])
    shifted = predictions - predictions.max(axis=-1, keepdims=True)
    guess = np.exp(shifted) if params["from_logits"] else predictions
    p = np.clip(guess / guess.sum(axis=-1, keepdims=True), EPSILON, 1.0 - EPSILON)
    gamma, alpha = float(params["gamma"]), float(params["alpha"])
    logs = -labels * np.log(p)
    terms = alpha * (1.0 - p) ** gamma * logs
    spread = growth(p.shape[-1]) + p.shape[-1] + 4.0 + np.abs(shifted if params["from_logits"] else 0.0)
    kappa = alpha * (1.0 - p) ** gamma * (np.abs(logs) + labels) * spread
    kappa = kappa + alpha * gamma * (1.0 - p) ** max(gamma - 1.0, 0.0) * np.abs(logs) * spread
    return Evaluation(np.sum(terms, axis=-1), np.sum(kappa, axis=-1))


def _dice(params: Params, labels: Array, predictions: Array) -> Evaluation:
    axis = params["axis"]
    together = np.sum(labels * predictions, axis=axis)
    total = np.sum(labels, axis=axis) + np.sum(predictions, axis=axis) + EPSILON
    kappa = 1.0 + 4.0 * growth(labels.size) * np.sum(np.abs(labels * predictions), axis=axis) / np.abs(total)
    return Evaluation(np.asarray(1.0 - 2.0 * together / total), np.asarray(kappa))


def _tversky(params: Params, labels: Array, predictions: Array) -> Evaluation:
    axis = params["axis"]
    together = np.sum(labels * predictions, axis=axis)
    extra = np.sum(predictions * (1.0 - labels), axis=axis)
    missed = np.sum((1.0 - predictions) * labels, axis=axis)
    total = together + extra * float(params["alpha"]) + missed * float(params["beta"]) + EPSILON
    size = np.sum(np.abs(labels * predictions), axis=axis) + labels.size
    kappa = 1.0 + 4.0 * growth(labels.size) * size / np.abs(total)
    return Evaluation(np.asarray(1.0 - together / total), np.asarray(kappa))


_FROM_LOGITS = Parameter("from_logits", False, (False, True))
_SMOOTHING = Parameter("label_smoothing", 0.0, (0.0, 0.1), ("much",))
_AXIS = Parameter("axis", None, (None, 1))
_GAMMA = Parameter("gamma", 2.0, (2.0, 1.0, 0.5), ("much",))

CLASSIFICATION_LOSSES = (
    LossSpec(
        "Hinge",
        "keras.losses.Hinge",
        (),
        _hinge,
        "the mean over the last axis of max(1 - label prediction, 0), labels of 0 and 1 taken as -1 and 1",
        task="classification",
        labels="binary",
    ),
    LossSpec(
        "SquaredHinge",
        "keras.losses.SquaredHinge",
        (),
        _squared_hinge,
        "the mean over the last axis of max(1 - label prediction, 0)^2, labels of 0 and 1 taken as -1 and 1",
        task="classification",
        labels="binary",
    ),
    LossSpec(
        "CategoricalHinge",
        "keras.losses.CategoricalHinge",
        (),
        _categorical_hinge,
        "max(neg - pos + 1, 0) with neg = max((1 - label) prediction) and pos = sum(label prediction)",
        task="classification",
        labels="classes",
    ),
    LossSpec(
        "KLDivergence",
        "keras.losses.KLDivergence",
        (),
        _divergence,
        "the sum over classes of label log(label / prediction), both within 1e-7 and 1",
        task="classification",
        labels="distribution",
        predictions="probabilities",
    ),
    LossSpec(
        "BinaryFocalCrossentropy",
        "keras.losses.BinaryFocalCrossentropy",
        (
            _GAMMA,
            _FROM_LOGITS,
            _SMOOTHING,
            Parameter("apply_class_balancing", False, (False, True)),
            Parameter("alpha", 0.25, (0.25, 0.75)),
            AXIS,
        ),
        along_axis(_binary_focal),
        "binary cross-entropy times (1 - p of the truth)^gamma, averaged over the axis; balancing, times alpha "
        "where the label is 1 and 1 - alpha where it is 0",
        task="classification",
        labels="binary",
        predictions="chances",
        otherwise=along_axis(_binary_focal_of_logits),
    ),
    LossSpec(
        "CategoricalFocalCrossentropy",
        "keras.losses.CategoricalFocalCrossentropy",
        (Parameter("alpha", 0.25, (0.25, 1.0), ("much",)), _GAMMA, _FROM_LOGITS, _SMOOTHING, AXIS),
        along_axis(_categorical_focal),
        "minus the sum over classes of alpha (1 - p)^gamma label log p",
        task="classification",
        labels="classes",
        predictions="probabilities",
    ),
    LossSpec(
        "Dice",
        "keras.losses.Dice",
        (_AXIS,),
        _dice,
        "1 - 2 sum(label prediction) / (sum(label) + sum(prediction) + 1e-7) over the whole batch or the axis",
        task="classification",
        labels="binary",
        predictions="chances",
    ),
    LossSpec(
        "Tversky",
        "keras.losses.Tversky",
        (Parameter("alpha", 0.5, (0.5, 0.3), ("much",)), Parameter("beta", 0.5, (0.5, 0.7), ("much",)), _AXIS),
        _tversky,
        "1 - TP / (TP + alpha FP + beta FN + 1e-7) over the whole batch or the axis, with FP = sum(prediction "
        "(1 - label)): alpha is documented as the coefficient of false positives",
        task="classification",
        labels="binary",
        predictions="chances",
    ),
)
