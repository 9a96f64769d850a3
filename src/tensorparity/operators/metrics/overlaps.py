"""Metrics of classes: F scores and intersections over unions."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ..spec import Evaluation, Parameter, Params
from .spec import EPSILON, MetricSpec, Reference, rounded


def _f_score(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
    guess, truth = predictions.astype(np.float64), labels.astype(np.float64)
    if params["threshold"] is None:
        said = (guess >= guess.max(axis=-1, keepdims=True)) & (np.abs(guess) > 1e-9)
    else:
        said = guess > params["threshold"]
    w = np.ones((len(guess), 1)) if weights is None else weights.astype(np.float64).reshape(-1, 1)
    axis = None if params["average"] == "micro" else 0
    hits, alarms, misses = (
        np.sum(w * part, axis=axis) for part in (said * truth, said * (1.0 - truth), (1.0 - said) * truth)
    )
    precision, recall = hits / (hits + alarms + EPSILON), hits / (hits + misses + EPSILON)
    beta = float(params.get("beta", 1.0)) ** 2
    scores = (1.0 + beta) * precision * recall / (beta * precision + recall + EPSILON)
    if params["average"] == "weighted":
        shares = np.sum(w * truth, axis=0)
        scores = np.sum(scores * shares / (shares.sum() + EPSILON))
    elif params["average"] is not None:
        scores = np.mean(scores)
    return rounded(scores, truth.size)


def _classes(array: Array, sparse: bool, axis: int = -1) -> Array:
    return np.asarray(array if sparse else array.argmax(axis=axis)).astype(np.int64).reshape(-1)


def _union(binary: bool, one_hot: bool) -> Reference:
    def value(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
        number = 2 if binary else int(params["num_classes"])
        if binary:
            truth, guess = _classes(labels, True), _classes(predictions >= params["threshold"], True)
        else:
            truth = _classes(labels, params.get("sparse_y_true", not one_hot), params["axis"])
            guess = _classes(predictions, params["sparse_y_pred"], params["axis"])
        w = np.ones(truth.shape) if weights is None else weights.astype(np.float64).reshape(-1)
        if w.size != truth.size:
            w = np.repeat(w, truth.size // w.size)
        ignored = params.get("ignore_class")
        counted = (truth >= 0) & (truth < number) & (guess >= 0) & (guess < number)
        counted = counted if ignored is None else counted & (truth != ignored)
        table = np.zeros((number, number))
        np.add.at(table, (truth[counted], guess[counted]), w[counted])
        union = table.sum(axis=0) + table.sum(axis=1) - np.diag(table)
        chosen = params.get("target_class_ids")
        ids = list(range(number)) if chosen is None else list(chosen)
        present = union[ids] > 1e-9
        shares = np.where(present, np.diag(table)[ids] / (union[ids] + EPSILON), 0.0)
        return rounded(np.sum(shares) / (np.count_nonzero(present) + EPSILON), number)

    return value


_AVERAGE = Parameter("average", None, (None, "micro", "macro", "weighted"), ("median",))
_THRESHOLD = Parameter("threshold", None, (None, 0.3), (0.0, 1.5, "much"))
_NUMBER = Parameter("num_classes", None, (4,), (-1, "much"), required=True)
_IDS = Parameter("target_class_ids", None, ([0], [0, 2, 3]), ([4],), required=True)
_IGNORED = Parameter("ignore_class", None, (None, 1))
_AXIS = Parameter("axis", -1, (-1, 1))
_SPARSE = (Parameter("sparse_y_true", True, (True, False)), Parameter("sparse_y_pred", True, (True, False)), _AXIS)
_ONE_HOT = (Parameter("sparse_y_pred", False, (False, True)), _AXIS)
_IOU = "intersection over union, TP / (TP + FP + FN), averaged over the classes that occur"

OVERLAPS = (
    MetricSpec(
        "FBetaScore",
        (_AVERAGE, Parameter("beta", 1.0, (1.0, 0.5, 2.0), (0.0, -1.0, 1, "much")), _THRESHOLD),
        _f_score,
        "(1 + beta^2) precision recall / (beta^2 precision + recall) of each class, or averaged",
        "classes",
        "probabilities",
    ),
    MetricSpec(
        "F1Score",
        (_AVERAGE, _THRESHOLD),
        _f_score,
        "2 precision recall / (precision + recall) of each class, or averaged",
        "classes",
        "probabilities",
    ),
    MetricSpec("IoU", (_NUMBER, _IDS, _IGNORED, *_SPARSE), _union(False, False), _IOU, "indices", "indices", "whole"),
    MetricSpec("MeanIoU", (_NUMBER, _IGNORED, *_SPARSE), _union(False, False), _IOU, "indices", "indices", "whole"),
    MetricSpec(
        "BinaryIoU",
        (
            Parameter("target_class_ids", (0, 1), ((0, 1), [0], [1]), ([2],)),
            Parameter("threshold", 0.5, (0.5, 0.3), ("much",)),
        ),
        _union(True, False),
        f"{_IOU}; predictions from the threshold on are of class 1",
        "bits",
        "flat chances",
        "whole",
    ),
    MetricSpec(
        "OneHotIoU", (_NUMBER, _IDS, _IGNORED, *_ONE_HOT), _union(False, True), _IOU, "classes", "scores", "whole"
    ),
    MetricSpec(
        "OneHotMeanIoU", (_NUMBER, _IGNORED, *_ONE_HOT), _union(False, True), _IOU, "classes", "scores", "whole"
    ),
)
