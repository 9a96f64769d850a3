"""What other thresholds of CRADLE's would report, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.oracles.measure.threshold_grid import (
    CLASS_THRESHOLDS,
    MAD_THRESHOLDS,
    class_thresholds,
    threshold_grid,
)


def test_a_classifier_has_both_distances_and_the_baseline() -> None:
    # of four inputs one falls from rank 1 to 2, a distance of 8
    a = np.array([[0.9, 0.1]] * 4)
    b = np.array([[0.1, 0.9], *[[0.9, 0.1]] * 3])
    by_class, by_mad, accuracy = threshold_grid(a, b, np.zeros(4, int))
    assert by_class["reaching"] == {"1": 25.0, "2": 25.0, "4": 25.0, "8": 25.0, "12": 0.0, "15": 0.0, "16": 0.0}
    assert by_mad["reaching"] == {"0.05": 25.0, "0.1": 25.0, "0.2": 25.0, "0.4": 25.0, "0.6": 25.0, "0.8": 25.0, "1": 0}
    assert accuracy["apart"] == {"1": pytest.approx(25.0), "2": 0.0, "3": 0.0, "4": 0.0, "5": 0.0}


def test_thresholds_are_scaled_with_k() -> None:
    a, b = np.array([[0.9, 0.1]] * 2), np.array([[0.1, 0.9], [0.9, 0.1]])  # from rank 1 to 2: with k = 3, 4 and 2
    by_class, _, accuracy = threshold_grid(a, b, np.zeros(2, int), 3)
    assert by_class["reaching"] == {"1": 50.0, "2": 50.0, "3": 0.0, "3.75": 0.0, "4": 0.0}
    assert list(accuracy["apart"]) == ["1", "2", "3"]
    assert class_thresholds() == CLASS_THRESHOLDS


def test_a_regression_has_one() -> None:
    (row,) = threshold_grid(np.array([[0.4], [0.2]]), np.array([[-0.1], [0.2]]), np.zeros((2, 1)))
    assert (row["metric"], row["reaching"]["0.6"], row["reaching"]["0.8"]) == ("mad", 50.0, 0.0)


def test_the_papers_thresholds_are_among_those_tried() -> None:
    assert 8.0 in CLASS_THRESHOLDS
    assert 0.2 in MAD_THRESHOLDS
