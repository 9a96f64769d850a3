"""Losses of values: errors in percent, of logarithms, robust ones, counts and angles."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth
from ..spec import Evaluation, Parameter, Params
from .spec import AXIS, EPSILON, LossSpec, along_axis, mean_last


def _percentage(params: Params, labels: Array, predictions: Array) -> Evaluation:
    share = 100.0 * np.abs(labels - predictions) / np.maximum(np.abs(labels), EPSILON)
    return mean_last(Evaluation(share, 2.0 * share))


def _logarithmic(params: Params, labels: Array, predictions: Array) -> Evaluation:
    logs = [np.log1p(np.maximum(x, EPSILON)) for x in (predictions, labels)]
    difference = logs[0] - logs[1]
    # log(1 + x) rounds at the size of 1, whatever x is.
    rounding = 1.0 + np.abs(logs[0]) + np.abs(logs[1])
    return mean_last(Evaluation(np.square(difference), 2.0 * np.abs(difference) * rounding + np.square(difference)))


def _cosine(params: Params, labels: Array, predictions: Array) -> Evaluation:
    sizes = [np.sqrt(np.sum(np.square(x), axis=-1)) for x in (labels, predictions)]
    below = np.maximum(sizes[0], EPSILON) * np.maximum(sizes[1], EPSILON)
    products = labels * predictions
    terms = 4.0 + growth(labels.shape[-1])
    return Evaluation(-np.sum(products, axis=-1) / below, terms * np.sum(np.abs(products), axis=-1) / below)


def _huber(params: Params, labels: Array, predictions: Array) -> Evaluation:
    delta, size = float(params["delta"]), np.abs(predictions - labels)
    value = np.where(size <= delta, 0.5 * size**2, delta * size - 0.5 * delta**2)
    return mean_last(Evaluation(value, 2.0 * np.where(size <= delta, 0.5 * size**2, delta * size + 0.5 * delta**2)))


def _log_cosh(params: Params, labels: Array, predictions: Array) -> Evaluation:
    x = predictions - labels
    size = np.abs(x)
    value = size + np.logaddexp(0.0, -2.0 * size) - np.log(2.0)
    # Close to zero the three terms cancel, and what is left is their rounding; implementations leave the sign in them.
    return mean_last(Evaluation(value, 2.0 * size + 2.0 * np.logaddexp(0.0, -2.0 * x) + np.log(2.0)))


def _poisson(params: Params, labels: Array, predictions: Array) -> Evaluation:
    pulled = labels * np.log(predictions + EPSILON)
    return mean_last(Evaluation(predictions - pulled, np.abs(predictions) + 2.0 * np.abs(pulled) + np.abs(labels)))


REGRESSION_LOSSES = (
    LossSpec(
        "MeanAbsolutePercentageError",
        "keras.losses.MeanAbsolutePercentageError",
        (),
        _percentage,
        "100 times the mean over the last axis of |label - prediction| / max(|label|, 1e-7)",
        labels="positive",
    ),
    LossSpec(
        "MeanSquaredLogarithmicError",
        "keras.losses.MeanSquaredLogarithmicError",
        (),
        _logarithmic,
        "the mean over the last axis of (log(label + 1) - log(prediction + 1))^2, nothing below 1e-7",
        labels="positive",
        predictions="positive",
    ),
    LossSpec(
        "CosineSimilarity",
        "keras.losses.CosineSimilarity",
        (AXIS,),
        along_axis(_cosine),
        "minus the cosine of the angle between label and prediction along the axis",
    ),
    LossSpec(
        "Huber",
        "keras.losses.Huber",
        (Parameter("delta", 1.0, (1.0, 0.5, 2.0), ("much",)),),
        _huber,
        "the mean over the last axis of e^2 / 2 where |e| <= delta, else delta |e| - delta^2 / 2",
    ),
    LossSpec(
        "LogCosh",
        "keras.losses.LogCosh",
        (),
        _log_cosh,
        "the mean over the last axis of log(cosh(prediction - label))",
    ),
    LossSpec(
        "Poisson",
        "keras.losses.Poisson",
        (),
        _poisson,
        "the mean over the last axis of prediction - label log(prediction + 1e-7)",
        labels="positive",
        predictions="positive",
    ),
)
