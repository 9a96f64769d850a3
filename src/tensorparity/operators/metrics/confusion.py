"""Metrics of hits and misses at thresholds: counts, precision, recall, areas under curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ..spec import Evaluation, Parameter, Params
from .spec import EPSILON, MetricSpec, Reference, ratio

#: Predictions this close to a threshold may fall on either side of it, as thresholds are rounded too.
_CLOSE = 1e-6
_UNSURE = 2.0**24


@dataclass(frozen=True, slots=True)
class Confusion:
    """Weighted counts per threshold (and per label); ``sure`` unless a prediction is on a threshold."""

    hits: Array
    alarms: Array
    rejections: Array
    misses: Array
    sure: bool

    def judged(self, value: Array) -> Evaluation:
        size = 16.0 * (1.0 + np.abs(value))
        return Evaluation(value, size if self.sure else size * _UNSURE)


def count(
    labels: Array, predictions: Array, weights: Array | None, thresholds: Sequence[float], *, by_label: bool = False
) -> Confusion:
    """All predictions above each threshold are positive."""
    truth, guess = labels.astype(bool), predictions.astype(np.float64)
    w = np.ones(guess.shape) if weights is None else np.broadcast_to(weights, guess.shape).astype(np.float64)
    axis = 0 if by_label else None
    positive = [guess > threshold for threshold in thresholds]
    parts = [
        np.array([np.sum(w * (truth == actual) * (above == said), axis=axis) for above in positive])
        for actual, said in ((True, True), (False, True), (False, False), (True, False))
    ]
    near = any(bool(np.any(np.abs(guess - threshold) < _CLOSE)) for threshold in thresholds if 0.0 <= threshold <= 1.0)
    return Confusion(parts[0], parts[1], parts[2], parts[3], not near)


def _rows(weights: Array | None, predictions: Array) -> Array | None:
    """Weights of samples, each for its whole row; those of single numbers as they are."""
    if weights is None or weights.ndim == predictions.ndim:
        return weights
    return weights.reshape(len(weights), *[1] * (predictions.ndim - 1))


def _single(value: Array, thresholds: object) -> Array:
    """One threshold gives one number."""
    return value if isinstance(thresholds, (list, tuple)) and len(thresholds) > 1 else value.reshape(())


def _counting_reference(of: Callable[[Confusion], Array]) -> Reference:
    def value(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
        thresholds = _thresholds(params["thresholds"], 0.5)
        found = count(labels, predictions, _rows(weights, predictions), thresholds)
        return found.judged(_single(of(found), params["thresholds"]))

    return value


def _thresholds(given: object, default: float) -> list[float]:
    if given is None:
        return [default]
    return [float(item) for item in given] if isinstance(given, (list, tuple)) else [float(given)]  # type: ignore[arg-type]


def _share(of: Callable[[Confusion], tuple[Array, Array]]) -> Reference:
    """Precision and recall: over all predictions, one class of them, or the k largest of each sample."""

    def value(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
        guess, truth = predictions.astype(np.float64), labels
        top, chosen = params["top_k"], params["class_id"]
        if top is not None:
            least = np.sort(guess, axis=-1)[..., -top : guess.shape[-1] - top + 1]
            guess = np.where(guess >= least, guess, -np.inf)
        if chosen is not None:
            guess, truth = guess[..., chosen, None], truth[..., chosen, None]
        thresholds = _thresholds(params["thresholds"], 0.5 if top is None else -np.inf)
        found = count(truth, guess, _rows(weights, guess), thresholds)
        return found.judged(_single(ratio(*of(found)), params["thresholds"]))

    return value


def _evenly(number: int) -> list[float]:
    return [-EPSILON, *(index / (number - 1) for index in range(1, number - 1)), 1.0 + EPSILON]


def _between(number: int) -> list[float]:
    """From 0 to 1: unlike AUC's, the outermost do not lie beyond what a prediction can be."""
    return [index / (number - 1) for index in range(number)]


def _best(name: str, wanted: Callable[[Confusion], Array], bound: Callable[[Confusion], Array]) -> Reference:
    """The largest of one rate over all thresholds where the other is at least the parameter; 0 where it never is."""

    def value(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
        guess, truth, chosen = predictions, labels, params["class_id"]
        if chosen is not None:
            guess, truth = guess[..., chosen, None], truth[..., chosen, None]
        found = count(truth, guess, _rows(weights, guess), _between(params["num_thresholds"]))
        rates = bound(found)
        fitting = np.where(rates >= params[name], wanted(found), 0.0)
        judged = found.judged(np.asarray(fitting.max(initial=0.0)))
        # A rate that is the bound up to rounding is met by some dtypes and not by others.
        exact = bool(np.any((np.abs(rates - params[name]) < _CLOSE) & (rates != params[name])))
        return Evaluation(judged.value, judged.kappa * _UNSURE) if exact else judged

    return value


def _precision(c: Confusion) -> Array:
    return ratio(c.hits, c.hits + c.alarms)


def _recall(c: Confusion) -> Array:
    return ratio(c.hits, c.hits + c.misses)


def _specificity(c: Confusion) -> Array:
    return ratio(c.rejections, c.rejections + c.alarms)


def _area(params: Params, labels: Array, predictions: Array, weights: Array | None) -> Evaluation:
    guess = predictions.astype(np.float64)
    guess = 1.0 / (1.0 + np.exp(-guess)) if params["from_logits"] else guess
    own = params["thresholds"]
    thresholds = _evenly(params["num_thresholds"]) if own is None else [-EPSILON, *sorted(own), 1.0 + EPSILON]
    w, by_label = _rows(weights, guess), bool(params["multi_label"])
    shares = params["label_weights"]
    if shares is not None and not by_label:
        w = np.asarray(shares) * (1.0 if w is None else w)
    found = count(labels, guess, w, thresholds, by_label=by_label)
    areas = _under_curve(params["curve"], params["summation_method"], found)
    if by_label:
        areas = np.asarray(areas.mean() if shares is None else np.sum(areas * shares) / np.sum(shares))
    return found.judged(areas)


def _under_curve(curve: str, method: str, c: Confusion) -> Array:
    if curve == "PR" and method == "interpolation":
        return _interpolated(c)
    if curve == "ROC":
        x, y = ratio(c.alarms, c.alarms + c.rejections), _recall(c)
    else:
        x, y = _recall(c), _precision(c)
    low, high = np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:])
    heights = {"interpolation": (low + high) / 2.0, "minoring": low, "majoring": high}[method]
    return np.asarray(np.sum((x[:-1] - x[1:]) * heights, axis=0))


def _interpolated(c: Confusion) -> Array:
    """Davis and Goadrich: hits and positives grow linearly between two thresholds, precision is their quotient."""
    gained, positives = c.hits[:-1] - c.hits[1:], c.hits + c.alarms
    slope = ratio(gained, np.maximum(positives[:-1] - positives[1:], 0.0))
    intercept = c.hits[1:] - slope * positives[1:]
    both = (positives[:-1] > 0) & (positives[1:] > 0)
    growth = np.where(both, positives[:-1] / np.where(both, positives[1:], 1.0), 1.0)
    area = ratio(slope * (gained + intercept * np.log(growth)), np.maximum(c.hits[1:] + c.misses[1:], 0.0))
    return np.asarray(np.sum(area, axis=0))


_AT = Parameter("thresholds", None, (None, 0.3, [0.2, 0.7]), ([0.2, 1.5], -0.1, "much"))
_COUNTS: tuple[tuple[str, str, Callable[[Confusion], Array]], ...] = (
    ("TruePositives", "labels of 1 predicted above the threshold", lambda c: c.hits),
    ("FalsePositives", "labels of 0 predicted above the threshold", lambda c: c.alarms),
    ("TrueNegatives", "labels of 0 not predicted above the threshold", lambda c: c.rejections),
    ("FalseNegatives", "labels of 1 not predicted above the threshold", lambda c: c.misses),
)
_TOP = (_AT, Parameter("top_k", None, (None, 2), (-1, "much")), Parameter("class_id", None, (None, 1), ("much",)))
_NUMBER = Parameter("num_thresholds", 200, (200, 11), (0,))
_CLASS = Parameter("class_id", None, (None, 1), ("much",))


def _bound_parameter(name: str) -> Parameter:
    return Parameter(name, None, (0.5, 0.8), (-0.1, 1.5, "much"), required=True)


CONFUSIONS = (
    *(
        MetricSpec(
            name,
            (_AT,),
            _counting_reference(of),
            f"the weights of {formula}, summed",
            "binary",
            "chances",
            by_element=True,
        )
        for name, formula, of in _COUNTS
    ),
    MetricSpec(
        "Precision",
        _TOP,
        _share(lambda c: (c.hits, c.hits + c.alarms)),
        "true positives / (true positives + false positives); with top_k only the k largest of a sample are positive",
        "binary",
        "chances",
    ),
    MetricSpec(
        "Recall",
        _TOP,
        _share(lambda c: (c.hits, c.hits + c.misses)),
        "true positives / (true positives + false negatives); with top_k only the k largest of a sample are positive",
        "binary",
        "chances",
    ),
    MetricSpec(
        "SensitivityAtSpecificity",
        (_bound_parameter("specificity"), _NUMBER, _CLASS),
        _best("specificity", _recall, _specificity),
        "the best sensitivity over all thresholds where specificity is at least the given one",
        "binary",
        "chances",
    ),
    MetricSpec(
        "SpecificityAtSensitivity",
        (_bound_parameter("sensitivity"), _NUMBER, _CLASS),
        _best("sensitivity", _specificity, _recall),
        "the best specificity over all thresholds where sensitivity is at least the given one",
        "binary",
        "chances",
    ),
    MetricSpec(
        "PrecisionAtRecall",
        (_bound_parameter("recall"), _NUMBER, _CLASS),
        _best("recall", _precision, _recall),
        "the best precision over all thresholds where recall is at least the given one",
        "binary",
        "chances",
    ),
    MetricSpec(
        "RecallAtPrecision",
        (_bound_parameter("precision"), _NUMBER, _CLASS),
        _best("precision", _recall, _precision),
        "the best recall over all thresholds where precision is at least the given one",
        "binary",
        "chances",
    ),
    MetricSpec(
        "AUC",
        (
            Parameter("num_thresholds", 200, (200, 11), (1,)),
            Parameter("curve", "ROC", ("ROC", "PR"), ("XYZ",)),
            Parameter("summation_method", "interpolation", ("interpolation", "minoring", "majoring"), ("XYZ",)),
            Parameter("thresholds", None, (None, [0.1, 0.4, 0.8])),
            Parameter("multi_label", False, (False, True)),
            Parameter("num_labels", None, (None, 4)),
            Parameter("label_weights", None, (None, [1.0, 2.0, 0.5, 1.0])),
            Parameter("from_logits", False, (False, True)),
        ),
        _area,
        "the Riemann sum under the curve of recall over false positive rate (ROC) or precision over recall (PR) at the "
        "thresholds",
        "binary",
        "chances",
        needs={"num_labels": {"multi_label": True}},
    ),
)
