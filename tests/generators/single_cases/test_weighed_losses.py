"""Losses with weights, by hand and against NumPy's averages; and all of them drawn."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, Case
from tensorparity.generators.single_cases.weighed_losses import weighed_loss_cases
from tensorparity.operators.functions.api import evaluate_call
from tensorparity.operators.losses.catalogue import LOSSES
from tensorparity.operators.losses.weighed import WEIGHED, weighed_loss_of
from tensorparity.operators.spec import ShapeError
from tensorparity.oracles.references import references

LABELS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
PREDICTIONS = np.array([[1.0, 1.0], [1.0, 3.0], [0.0, 0.0]])
#: Mean squared errors of 1, 2 and 2.
WEIGHTS = np.array([2.0, 0.5, 0.0])


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("sum", 3.0),
        ("sum_over_batch_size", 1.0),
        ("mean", 1.0),
        ("mean_with_sample_weight", 1.2),
        ("none", [2.0, 1.0, 0.0]),
    ],
)
def test_by_hand(reduction: str, expected: float | list[float]) -> None:
    found = WEIGHED["MeanSquaredError"].evaluate({"reduction": reduction}, (LABELS, PREDICTIONS, WEIGHTS))
    assert found.value == pytest.approx(expected)


def test_no_weight_at_all_gives_zero() -> None:
    arrays = (LABELS, PREDICTIONS, np.zeros(3))
    assert WEIGHED["MeanSquaredError"].evaluate({"reduction": "mean_with_sample_weight"}, arrays).value == 0.0


def test_other_weights_than_losses_are_not_covered() -> None:
    with pytest.raises(ShapeError, match="weights of shape"):
        WEIGHED["MeanSquaredError"].evaluate({}, (LABELS, PREDICTIONS, np.ones(2)))


def test_of_two_right_values_neither_is_the_reference() -> None:
    labels, predictions = np.array([0, 1]), np.array([[2.0, 3.0], [0.5, 4.0]])
    with pytest.raises(ShapeError, match="two are right"):
        WEIGHED["SparseCategoricalCrossentropy"].evaluate({}, (labels, predictions, np.ones(2)))


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    return list(islice(weighed_loss_cases(0), 6 * len(LOSSES)))


def test_the_losses_of_samples_are_weighed(drawn: list[Case]) -> None:
    together = {"Dice", "Tversky"}  # one loss of all samples, unless an axis says otherwise
    names = {_call(case).api.rpartition(".")[2] for case in drawn}
    assert names >= set(LOSSES) - together
    assert [case.digest for case in drawn] == [c.digest for c in islice(weighed_loss_cases(0), len(drawn))]


def test_weights_are_of_samples_and_of_elements(drawn: list[Case]) -> None:
    ranks = {case.inputs["sample_weight"].ndim for case in drawn}
    assert ranks == {1, 2}


def test_each_has_a_reference_that_heeds_the_weights(drawn: list[Case]) -> None:
    for case in drawn:
        (truth,) = references(case).values()
        each = weighed_loss_of(_call(case).api).each(_call(case).kwargs, case.inputs["y_true"], case.inputs["y_pred"])  # type: ignore[union-attr]
        reduction = _call(case).kwargs.get("reduction", "sum_over_batch_size")
        weights = case.inputs["sample_weight"].astype(np.float64)
        total = float(np.vdot(each.value, weights))
        over = {"sum": 1.0, "mean_with_sample_weight": float(weights.sum())}.get(reduction, float(weights.size))
        assert float(truth.value) == pytest.approx(total / over if over else 0.0, nan_ok=True)


def _call(case: Case) -> ApiCall:
    assert isinstance(case.subject, ApiCall)
    evaluate_call(case.subject, dict(case.inputs))
    return case.subject
