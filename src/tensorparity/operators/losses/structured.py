"""Losses of sequences, of pairs of samples, and of noisy classes: CTC, Circle, generalized cross-entropy."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ..functions import named_activations
from ..reference.rounding import exact, growth
from ..spec import Evaluation, Parameter, Params
from .spec import MEANS, LossSpec

#: The class that stands for nothing, in labels and in predictions.
BLANK = 0
#: softplus of less than this is zero in float32, on some backends already a little before.
_VANISHED, _VANISHING = -104.0, -86.0


def _ctc(params: Params, labels: Array, predictions: Array) -> Evaluation:
    logs = named_activations.log_softmax(exact(predictions))
    found = [_sequence(label[label != BLANK].astype(int), log) for label, log in zip(labels, logs.value, strict=True)]
    steps = predictions.shape[1]
    # Along a path every step adds a rounded logarithm to one that may be as large as the whole loss.
    own = np.max(np.broadcast_to(logs.kappa, predictions.shape), axis=(1, 2))
    value = np.array(found)
    return Evaluation(value, steps * (own + np.max(np.abs(logs.value), axis=(1, 2))) + growth(steps) * np.abs(value))


def _sequence(label: Array, logs: Array) -> float:
    """Minus the logarithm of the chance of all paths that spell the label, by the forward recursion."""
    spelled = [BLANK]
    for symbol in label:
        spelled += [int(symbol), BLANK]
    reached = np.full(len(spelled), -np.inf)
    reached[: min(2, len(spelled))] = logs[0, spelled[:2]]
    for step in logs[1:]:
        before = reached
        reached = before.copy()
        reached[1:] = np.logaddexp(reached[1:], before[:-1])
        for place in range(2, len(spelled)):
            if spelled[place] not in (BLANK, spelled[place - 2]):
                reached[place] = np.logaddexp(reached[place], before[place - 2])
        reached = reached + step[spelled]
    return -float(np.logaddexp.reduce(reached[-2:]))


def _circle(params: Params, labels: Array, predictions: Array) -> Evaluation:
    margin, gamma = float(params["margin"]), float(params["gamma"])
    distance = np.maximum(1.0 - predictions @ predictions.T, 0.0)
    same = labels.reshape(-1, 1) == labels.reshape(1, -1)
    positive = same & ~np.eye(len(same), dtype=bool) if params["remove_diagonal"] else same
    pulled = -gamma * np.maximum(margin + distance, 0.0) * (margin - distance)
    pushed = gamma * np.maximum(1.0 + margin - distance, 0.0) * (1.0 - margin - distance)
    both = _log_sum(pulled, positive) + _log_sum(pushed, ~same)
    value = np.where(both < _VANISHED, 0.0, np.logaddexp(0.0, both))
    slope = np.exp(np.minimum(both, 0.0))
    sizes = np.abs(predictions) @ np.abs(predictions).T * growth(predictions.shape[-1])
    spread = gamma * (2.0 + 2.0 * margin + 2.0 * distance) * (1.0 + sizes)
    kappa = slope * (spread.max(axis=1, initial=0.0) + np.abs(np.where(np.isfinite(both), both, 0.0)))
    counted = value > 0
    doubtful = (both > _VANISHED) & (both < _VANISHING)
    if doubtful.any():  # whether these samples count decides over the mean
        kappa = kappa + 2.0**24 * np.sum(value)
    if params["reduction"] not in MEANS or not counted.any():
        return Evaluation(value, kappa)
    # Samples without a loss are masked out: the mean is over the others.
    share = len(value) / np.count_nonzero(counted)
    return Evaluation(value * share, kappa * share)


def _log_sum(terms: Array, mask: Array) -> Array:
    """The logarithm of the sum of the exponentials of the terms under the mask; of none it is minus infinity."""
    return np.asarray(np.logaddexp.reduce(np.where(mask, terms, -np.inf), axis=1))


def _generalized(params: Params, labels: Array, predictions: Array) -> Evaluation:
    q = float(params["q"])
    index = labels.astype(np.int64).reshape(*predictions.shape[:-1], 1)
    power = np.take_along_axis(predictions, index, axis=-1)[..., 0] ** q
    return Evaluation((1.0 - power) / q, (1.0 + 4.0 * power) / q)


STRUCTURED_LOSSES = (
    LossSpec(
        "CTC",
        "keras.losses.CTC",
        (),
        _ctc,
        "minus the logarithm of the chance of all paths that spell the label, class 0 being the blank",
        sparse=True,
        task="classification",
        labels="sequences",
    ),
    LossSpec(
        "Circle",
        "keras.losses.Circle",
        (
            Parameter("gamma", 80.0, (80.0, 10.0, 2.0), ("much",)),
            Parameter("margin", 0.4, (0.4, 0.25), ("much",)),
            Parameter("remove_diagonal", True, (True, False)),
        ),
        _circle,
        "softplus(logsumexp over samples of the same class of gamma (margin + d) (d - margin) + logsumexp over the "
        "others of gamma (1 + margin - d) (1 - margin - d)), d the cosine distance; those without a loss do not count",
        sparse=True,
        task="classification",
        labels="classes",
        predictions="unit",
    ),
    LossSpec(
        "CategoricalGeneralizedCrossEntropy",
        "keras.losses.CategoricalGeneralizedCrossEntropy",
        (Parameter("q", 0.5, (0.5, 0.1, 0.9), (0.0, 1.0, 1.5, "much")),),
        _generalized,
        "(1 - p^q) / q with p the prediction of the labelled class",
        sparse=True,
        task="classification",
        labels="classes",
        predictions="probabilities",
    ),
)
