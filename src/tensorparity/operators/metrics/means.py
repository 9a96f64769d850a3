"""Metrics that are means over samples: those of the losses, accuracies, correlations; and plain Mean and Sum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.arrays import Array
from ..losses.catalogue import LOSSES
from ..losses.spec import AXIS
from ..reference.rounding import exact, growth
from ..spec import Evaluation, Parameter, Params
from .spec import EPSILON, MetricSpec, Reference, weighted_mean

Each = Callable[[Params, Array, Array], Evaluation]


def _mean_of(each: Each) -> Reference:
    def value(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
        return weighted_mean(each(params, labels, predictions), weights)

    return value


def _as_loss(name: str, sign: float = 1.0) -> Reference:
    spec = LOSSES[name]

    def each(params: Params, labels: Array, predictions: Array) -> Evaluation:
        truth = labels if spec.sparse else labels.astype(np.float64)
        found = spec.per_sample(
            {AXIS.name: AXIS.default, **params, "reduction": "none"}, truth, predictions.astype(np.float64)
        )
        return Evaluation(sign * found.value, found.kappa)

    return _mean_of(each)


def _mean_over_counted(name: str) -> Reference:
    """The mean of the loss over the samples whose class is not to be ignored."""
    spec = LOSSES[name]

    def value(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
        found = spec.per_sample({**params, "reduction": "none"}, labels, predictions.astype(np.float64))
        shape = found.value.shape
        w = np.ones(shape) if weights is None else weights.reshape(*weights.shape, *[1] * (len(shape) - weights.ndim))
        return weighted_mean(found, w * (labels.reshape(shape) != params["ignore_class"]))

    return value


def _hits(hits: Array) -> Evaluation:
    return exact(hits.astype(np.float64))


def _equal(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _hits(np.mean(labels == predictions, axis=-1))


def _binary(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _hits(np.mean(labels == (predictions > params["threshold"]), axis=-1))


def _categorical(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _hits(labels.argmax(axis=-1) == predictions.argmax(axis=-1))


def _sparse(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _hits(labels.reshape(predictions.shape[:-1]) == predictions.argmax(axis=-1))


def _ranked(index: Array, predictions: Array, k: int) -> Evaluation:
    own = np.take_along_axis(predictions, index[..., None], axis=-1)
    return _hits(np.sum(predictions > own, axis=-1) < k)


def _top_k(params: Params, labels: Array, predictions: Array) -> Evaluation:
    return _ranked(labels.argmax(axis=-1), predictions, params["k"])


def _sparse_top_k(params: Params, labels: Array, predictions: Array) -> Evaluation:
    if params["from_sorted_ids"]:
        return _hits(np.any(predictions[..., : params["k"]] == labels[..., None], axis=-1))
    return _ranked(labels.astype(np.int64), predictions, params["k"])


def _root_mean_square(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
    squares = np.square(predictions.astype(np.float64) - labels)
    spread = None if weights is None else weights.reshape(-1, *[1] * (squares.ndim - 1))
    mean = weighted_mean(Evaluation(squares, 2.0 * squares), spread)
    value = np.sqrt(mean.value)
    return Evaluation(np.asarray(value), np.asarray(mean.kappa / np.maximum(value, 1e-30)))


def _centred(x: Array, axis: int) -> tuple[Array, Array, Array]:
    """Deviations from the mean, their standard deviation, and the size of what was subtracted."""
    mean = x.mean(axis=axis, keepdims=True)
    return x - mean, x.std(axis=axis, keepdims=True), np.abs(x).max(axis=axis, keepdims=True)


def _pearson(params: Params, labels: Array, predictions: Array) -> Evaluation:
    axis = params["axis"]
    a, spread_a, size_a = _centred(labels.astype(np.float64), axis)
    b, spread_b, size_b = _centred(predictions.astype(np.float64), axis)
    value = np.asarray(np.mean(a / spread_a * b / spread_b, axis=axis))
    terms = growth(labels.shape[axis])
    kappa = terms * np.asarray(np.max(4.0 * (1.0 + size_a / spread_a) * (1.0 + size_b / spread_b), axis=axis))
    return Evaluation(value, kappa)


def _concordance(params: Params, labels: Array, predictions: Array) -> Evaluation:
    axis = params["axis"]
    a, spread_a, size_a = _centred(labels.astype(np.float64), axis)
    b, spread_b, size_b = _centred(predictions.astype(np.float64), axis)
    apart = labels.mean(axis=axis, keepdims=True) - predictions.astype(np.float64).mean(axis=axis, keepdims=True)
    below = spread_a**2 + spread_b**2 + apart**2 + EPSILON
    value = np.asarray(np.mean(2.0 * a * b / below, axis=axis))
    kappa = growth(labels.shape[axis]) * np.max(8.0 * (size_a + size_b) ** 2 / below, axis=axis)
    return Evaluation(value, kappa)


def _r_squared(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
    truth, guess = labels.astype(np.float64), predictions.astype(np.float64)
    w = np.ones(len(truth)) if weights is None else weights.astype(np.float64)
    w = np.broadcast_to(w.reshape(-1, *[1] * (truth.ndim - 1)), truth.shape)
    count = w.sum(axis=0)
    total = np.sum(w * truth**2, axis=0) - np.sum(w * truth, axis=0) ** 2 / count
    residual = np.sum(w * (truth - guess) ** 2, axis=0)
    scores: Array = 1.0 - residual / total
    # The spread is a difference of sums of squares: what these round counts against it.
    kappa = growth(len(truth)) * 4.0 * (1.0 + residual / total * (1.0 + np.sum(w * truth**2, axis=0) / total))
    how = params["class_aggregation"]
    if how == "uniform_average":
        scores, kappa = np.asarray(np.mean(scores)), np.asarray(np.mean(kappa))
    elif how == "variance_weighted_average":
        scores, kappa = np.sum(total * scores) / np.sum(total), np.sum(np.abs(total) * kappa) / np.abs(np.sum(total))
    regressors, samples = params["num_regressors"], len(truth)
    if 0 < regressors < samples - 1:
        stretch = (samples - 1) / (samples - regressors - 1)
        scores, kappa = 1.0 - (1.0 - scores) * stretch, kappa * stretch
    return Evaluation(np.asarray(scores), np.asarray(kappa))


def _plain_mean(params: Params, _: Array, values: Array, weights: Array | None) -> Evaluation:
    return weighted_mean(exact(values.astype(np.float64)), weights)


def _plain_sum(params: Params, _: Array, values: Array, weights: Array | None) -> Evaluation:
    terms = values.astype(np.float64) * (1.0 if weights is None else weights)
    return Evaluation(np.asarray(terms.sum()), np.asarray(growth(terms.size) * np.abs(terms).sum()))


def _correlation(name: str, each: Each, formula: str) -> MetricSpec:
    return MetricSpec(name, (AXIS,), _mean_of(each), formula)


_LOGITS = Parameter("from_logits", False, (False, True))
_SMOOTHING = Parameter("label_smoothing", 0.0, (0.0, 0.1), ("much",))
_SAME = "the weighted mean of the loss of the same name"

MEANS = (
    *(MetricSpec(name, (), _as_loss(name), _SAME) for name in ("MeanSquaredError", "MeanAbsoluteError")),
    MetricSpec("MeanAbsolutePercentageError", (), _as_loss("MeanAbsolutePercentageError"), _SAME, labels="positive"),
    *(
        MetricSpec(name, (), _as_loss(name), _SAME, "positive", "positive")
        for name in ("MeanSquaredLogarithmicError", "Poisson")
    ),
    *(MetricSpec(name, (), _as_loss(name), _SAME, "binary") for name in ("Hinge", "SquaredHinge")),
    MetricSpec("CategoricalHinge", (), _as_loss("CategoricalHinge"), _SAME, "classes"),
    MetricSpec("KLDivergence", (), _as_loss("KLDivergence"), _SAME, "distribution", "probabilities"),
    MetricSpec("LogCoshError", (), _as_loss("LogCosh"), "the weighted mean of the loss LogCosh"),
    MetricSpec(
        "CosineSimilarity",
        (AXIS,),
        _as_loss("CosineSimilarity", -1.0),
        "the weighted mean of the cosine of the angle between label and prediction",
    ),
    MetricSpec("BinaryCrossentropy", (_LOGITS, _SMOOTHING), _as_loss("BinaryCrossentropy"), _SAME, "binary", "chances"),
    MetricSpec(
        "CategoricalCrossentropy",
        (_LOGITS, _SMOOTHING, AXIS),
        _as_loss("CategoricalCrossentropy"),
        _SAME,
        "classes",
        "probabilities",
    ),
    MetricSpec(
        "SparseCategoricalCrossentropy",
        (_LOGITS, Parameter("ignore_class", None, (None, 1)), AXIS),
        _mean_over_counted("SparseCategoricalCrossentropy"),
        f"{_SAME}, over the samples that are not of the class to ignore",
        "indices",
        "probabilities",
    ),
    MetricSpec(
        "RootMeanSquaredError", (), _root_mean_square, "the root of the weighted mean of all (prediction - label)^2"
    ),
    MetricSpec("Accuracy", (), _mean_of(_equal), "how often predictions equal labels", "grid", "grid"),
    MetricSpec(
        "BinaryAccuracy",
        (Parameter("threshold", 0.5, (0.5, 0.3), ("much",)),),
        _mean_of(_binary),
        "how often predictions above the threshold stand for labels of 1, others for 0",
        "binary",
        "chances",
    ),
    MetricSpec(
        "CategoricalAccuracy",
        (),
        _mean_of(_categorical),
        "how often the largest is the labelled one",
        "classes",
        "scores",
    ),
    MetricSpec(
        "SparseCategoricalAccuracy",
        (),
        _mean_of(_sparse),
        "how often the largest is the labelled one",
        "indices",
        "scores",
    ),
    MetricSpec(
        "TopKCategoricalAccuracy",
        (Parameter("k", 5, (5, 1, 2), ("much",)),),
        _mean_of(_top_k),
        "how often the labelled one is among the k largest",
        "classes",
        "scores",
    ),
    MetricSpec(
        "SparseTopKCategoricalAccuracy",
        (Parameter("k", 5, (5, 1, 2), ("much",)), Parameter("from_sorted_ids", False, (False, True))),
        _mean_of(_sparse_top_k),
        "how often the labelled one is among the k largest, or the first k of sorted ones",
        "indices",
        "scores",
    ),
    _correlation("PearsonCorrelation", _pearson, "mean of the product of both, centred and divided by their deviation"),
    _correlation(
        "ConcordanceCorrelation",
        _concordance,
        "2 covariance / (variance of labels + variance of predictions + squared difference of the means)",
    ),
    MetricSpec(
        "R2Score",
        (
            Parameter(
                "class_aggregation",
                "uniform_average",
                ("uniform_average", "variance_weighted_average", None),
                ("median",),
            ),
            Parameter("num_regressors", 0, (0, 1), (-1,)),
        ),
        _r_squared,
        "1 - sum of squared errors / sum of squared deviations from the mean; adjusted for p regressors and n samples, "
        "1 - (1 - R^2) (n - 1) / (n - p - 1)",
    ),
    MetricSpec("Mean", (), _plain_mean, "the weighted mean of the values", labels=""),
    MetricSpec("Sum", (), _plain_sum, "the weighted sum of the values", labels=""),
)
