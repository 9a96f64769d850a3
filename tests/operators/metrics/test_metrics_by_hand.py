"""Metrics worked out on a few numbers, and what is declared of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg
from tensorparity.core.errors import UsageError
from tensorparity.generators.single_cases.metrics import metric_cases
from tensorparity.operators.functions.api import api_known, evaluate_call, formula_of
from tensorparity.operators.functions.declared_calls import evaluate_declared
from tensorparity.operators.known_classes import METRICS as PUBLIC
from tensorparity.operators.metrics.catalogue import METRICS

LABELS, CHANCES = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[0.1, 0.6], [0.4, 0.7], [0.9, 0.2]]
CLASSES, SCORES = [[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.3, 0.2, 0.5]]


def metric(name: str, *arrays: object, **params: object) -> object:
    found = METRICS[name].evaluate(params, tuple(np.array(array) for array in arrays))
    assert found.kappa.shape == found.value.shape
    return found.value.tolist()


def test_every_public_metric_is_declared() -> None:
    assert set(METRICS) == set(PUBLIC) - {"Metric", "MeanMetricWrapper"}


def test_means_of_losses_are_weighted() -> None:
    labels, guess = [[1.0, 2.0], [3.0, 4.0]], [[2.0, 2.0], [3.0, 7.0]]
    assert metric("MeanSquaredError", labels, guess) == pytest.approx((0.5 + 4.5) / 2)
    assert metric("MeanSquaredError", labels, guess, [3.0, 1.0]) == pytest.approx((3 * 0.5 + 4.5) / 4)
    assert metric("MeanSquaredError", labels, guess, [0.0, 0.0]) == 0.0
    assert metric("RootMeanSquaredError", labels, guess, [3.0, 1.0]) == pytest.approx(math.sqrt((3 + 9) / 8))
    assert metric("CosineSimilarity", [[1.0, 0.0]], [[3.0, 4.0]]) == pytest.approx(0.6)
    assert metric("LogCoshError", [[0.0]], [[2.0]]) == pytest.approx(math.log(math.cosh(2.0)))


def test_accuracies() -> None:
    assert metric("Accuracy", [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [3.0, 4.0]], [1.0, 3.0]) == pytest.approx(3.5 / 4)
    assert metric("BinaryAccuracy", LABELS, CHANCES) == pytest.approx((1.0 + 0.0 + 0.5) / 3)
    assert metric("BinaryAccuracy", LABELS, CHANCES, threshold=0.3) == pytest.approx((1.0 + 0.5 + 0.5) / 3)
    assert metric("CategoricalAccuracy", CLASSES, SCORES) == pytest.approx(2 / 3)
    assert metric("SparseCategoricalAccuracy", [1, 0, 2], SCORES, [1.0, 2.0, 1.0]) == pytest.approx(0.5)
    assert metric("TopKCategoricalAccuracy", CLASSES, SCORES, k=2) == pytest.approx(2 / 3)
    assert metric("SparseTopKCategoricalAccuracy", [1, 2, 2], SCORES, k=2) == 1.0


def test_counts_and_shares() -> None:
    assert metric("TruePositives", LABELS, CHANCES) == 2.0
    assert metric("FalsePositives", LABELS, CHANCES, [1.0, 5.0, 1.0]) == 5.0
    assert metric("FalseNegatives", LABELS, CHANCES, thresholds=[0.3, 0.8]) == [1.0, 3.0]
    assert metric("TrueNegatives", LABELS, CHANCES) == 1.0
    assert metric("Precision", LABELS, CHANCES) == pytest.approx(2 / 3)
    assert metric("Recall", LABELS, CHANCES) == pytest.approx(2 / 4)
    assert metric("Recall", LABELS, CHANCES, class_id=0) == pytest.approx(1 / 2)
    assert metric("Precision", LABELS, CHANCES, top_k=1) == pytest.approx(2 / 3)
    assert metric("Precision", [[0.0, 0.0]], [[0.1, 0.1]]) == 0.0


def pairs_in_order(labels: list[float], chances: list[float]) -> float:
    """The share of pairs of a 1 and a 0 where the 1 is rated higher: what the area under the ROC curve is."""
    pairs = [(a, b) for (x, a), (y, b) in itertools.product(zip(labels, chances, strict=True), repeat=2) if x > y]
    return sum(a > b for a, b in pairs) / len(pairs)


def test_area_under_roc_is_the_share_of_ordered_pairs() -> None:
    labels, chances = [0.0, 1.0, 1.0, 0.0, 1.0], [0.15, 0.35, 0.85, 0.45, 0.65]
    assert metric("AUC", labels, chances) == pytest.approx(pairs_in_order(labels, chances))
    logits = [math.log(p / (1 - p)) for p in chances]
    assert metric("AUC", labels, logits, from_logits=True) == pytest.approx(pairs_in_order(labels, chances))
    low, high = (metric("AUC", labels, chances, num_thresholds=3, summation_method=m) for m in ("minoring", "majoring"))
    assert low < high


def test_area_by_label() -> None:
    columns = list(zip(*LABELS, strict=True)), list(zip(*CHANCES, strict=True))
    areas = [pairs_in_order(list(y), list(p)) for y, p in zip(*columns, strict=True)]
    assert metric("AUC", LABELS, CHANCES, multi_label=True) == pytest.approx(sum(areas) / 2)
    weighted = metric("AUC", LABELS, CHANCES, multi_label=True, label_weights=[3.0, 1.0])
    assert weighted == pytest.approx((3 * areas[0] + areas[1]) / 4)


def test_area_under_precision_and_recall() -> None:
    labels, chances = [0.0, 1.0, 1.0], [0.2, 0.4, 0.9]
    assert metric("AUC", labels, chances, curve="PR") == pytest.approx(1.0)
    # One of each, wrongly ordered: precision grows as TP / (1 + TP) while the hit comes in.
    assert metric("AUC", [1.0, 0.0], [0.2, 0.9], curve="PR") == pytest.approx(1.0 - math.log(2.0))
    assert metric("AUC", [1.0, 0.0], [0.2, 0.9], curve="PR", summation_method="majoring") == pytest.approx(0.5)


def test_rates_at_rates() -> None:
    labels, chances = [0.0, 0.0, 0.0, 1.0, 1.0], [0.05, 0.35, 0.85, 0.35, 0.95]
    assert metric("SensitivityAtSpecificity", labels, chances, specificity=0.5) == pytest.approx(0.5)
    assert metric("SpecificityAtSensitivity", labels, chances, sensitivity=0.5) == pytest.approx(1.0)
    assert metric("PrecisionAtRecall", labels, chances, recall=0.8) == pytest.approx(0.5)
    assert metric("RecallAtPrecision", labels, chances, precision=0.8) == pytest.approx(0.5)
    assert metric("RecallAtPrecision", [0.0], [0.5], precision=0.8) == 0.0


def test_f_scores() -> None:
    scores = metric("F1Score", CLASSES, SCORES)
    assert scores == pytest.approx([0.0, 2 * 0.5 / 1.5, 1.0], abs=1e-6)
    assert metric("F1Score", CLASSES, SCORES, average="macro") == pytest.approx((2 / 3 + 1) / 3, abs=1e-6)
    assert metric("F1Score", CLASSES, SCORES, average="micro") == pytest.approx(2 / 3, abs=1e-6)
    assert metric("F1Score", CLASSES, SCORES, [1.0, 2.0, 1.0], average="weighted") == pytest.approx(
        (1 / 4) * (2 / 3 / (4 / 3)) + 1 / 4, abs=1e-6
    )
    assert metric("FBetaScore", CLASSES, SCORES, beta=2.0)[1] == pytest.approx(5 * 0.5 / (4 * 0.5 + 1), abs=1e-6)
    assert metric("F1Score", CLASSES, SCORES, threshold=0.25)[2] == pytest.approx(0.5, abs=1e-6)


def test_unions() -> None:
    truth, guess = [0, 0, 1, 2], [0, 1, 1, 3]
    assert metric("IoU", truth, guess, num_classes=4, target_class_ids=[0]) == pytest.approx(0.5, abs=1e-6)
    assert metric("MeanIoU", truth, guess, num_classes=4) == pytest.approx((0.5 + 0.5 + 0 + 0) / 4, abs=1e-6)
    assert metric("MeanIoU", truth, guess, [1, 3, 1, 0], num_classes=4) == pytest.approx((1 / 4 + 1 / 4) / 2, abs=1e-6)
    assert metric("MeanIoU", truth, guess, num_classes=4, ignore_class=2) == pytest.approx(0.5, abs=1e-6)
    assert metric("BinaryIoU", [0, 1, 1], [0.1, 0.5, 0.4]) == pytest.approx((1 / 2 + 1 / 2) / 2, abs=1e-6)
    assert metric("OneHotMeanIoU", CLASSES, SCORES, num_classes=3) == pytest.approx((0 + 0.5 + 1) / 3, abs=1e-6)


def test_correlations_and_r_squared() -> None:
    assert metric("PearsonCorrelation", [[1.0, 2.0, 3.0]], [[2.0, 4.0, 6.0]]) == pytest.approx(1.0)
    assert metric("ConcordanceCorrelation", [[1.0, 2.0, 3.0]], [[2.0, 3.0, 4.0]]) == pytest.approx(
        2 * (2 / 3) / (2 / 3 + 2 / 3 + 1), abs=1e-6
    )
    labels, guess = [[1.0, 0.0], [2.0, 1.0], [3.0, 5.0], [4.0, 2.0]], [[1.0, 0.0], [2.0, 1.0], [3.0, 4.0], [2.0, 2.0]]
    each = [1 - 4 / 5, 1 - 1 / 14]
    assert metric("R2Score", labels, guess, class_aggregation=None) == pytest.approx(each)
    assert metric("R2Score", labels, guess) == pytest.approx(sum(each) / 2)
    weighted = metric("R2Score", labels, guess, class_aggregation="variance_weighted_average")
    assert weighted == pytest.approx((5 * each[0] + 14 * each[1]) / 19)
    assert metric("R2Score", labels, guess, num_regressors=1) == pytest.approx(1 - (1 - sum(each) / 2) * 3 / 2)


def test_plain_numbers() -> None:
    assert metric("Mean", [1.0, 3.0]) == 2.0
    assert metric("Mean", [1.0, 3.0], [3.0, 1.0]) == 1.5
    assert metric("Sum", [1.0, 3.0], [3.0, 1.0]) == 6.0


def test_a_prediction_on_a_threshold_is_left_open() -> None:
    sure = METRICS["TruePositives"].evaluate({"thresholds": 0.3}, (np.array([1.0]), np.array([0.31])))
    unsure = METRICS["TruePositives"].evaluate({"thresholds": 0.3}, (np.array([1.0]), np.array([0.3])))
    assert unsure.kappa > 1e6 * sure.kappa


def test_cases_are_calls_of_the_enumerated_api() -> None:
    seen = set()
    for case in itertools.islice(metric_cases(3), 2 * len(METRICS)):
        call = case.subject
        assert isinstance(call, ApiCall)
        assert api_known(call.api)
        assert formula_of(call.api)
        found = evaluate_call(call, case.inputs)
        assert np.isfinite(found.value).all(), call
        seen.add(call.api)
    assert len(seen) == len(METRICS)
    again = [case.digest for case in itertools.islice(metric_cases(3), 5)]
    assert again == [case.digest for case in itertools.islice(metric_cases(3), 5)]


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UsageError, match="unknown call 'keras.metrics.Nothing'"):
        evaluate_declared(ApiCall("keras.metrics.Nothing", (ArrayArg("a"),)), {"a": np.ones(2)})
    with pytest.raises(UsageError, match="does not cover"):
        evaluate_declared(ApiCall("keras.metrics.MeanSquaredError", (ArrayArg("a"),)), {"a": np.ones(2)})
