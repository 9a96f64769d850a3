"""Losses worked out number by number, in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.procedure import Recipe
from tensorparity.operators.losses.catalogue import evaluate_loss

E = 1e-7


def loss(name: str, labels: list[list[float]], predictions: list[list[float]], **params: object) -> float:
    return float(evaluate_loss(Recipe(name, params), np.array(labels), np.array(predictions)).value)


def mean(*numbers: float) -> float:
    return sum(numbers) / len(numbers)


CLASSES = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
SCORES = [[0.5, 0.25, -2.0], [3.0, 0.5, 1.5]]
SHARES = [[0.2, 0.7, 0.1], [0.5, 0.3, 0.2]]


def test_hinges() -> None:
    binary, guess = [[1.0, 0.0], [0.0, 1.0]], [[0.25, 0.5], [-3.0, 2.0]]
    assert loss("Hinge", binary, guess) == pytest.approx(mean(0.75, 1.5, 0.0, 0.0))
    assert loss("SquaredHinge", binary, guess) == pytest.approx(mean(0.75**2, 1.5**2, 0.0, 0.0))
    assert loss("Hinge", [[-1.0, 1.0]], [[0.5, 0.5]]) == pytest.approx(mean(1.5, 0.5))
    assert loss("Hinge", [[0.5, 1.0]], [[2.0, 0.5]]) == pytest.approx(mean(0.0, 0.5))


def test_categorical_hinge() -> None:
    assert loss("CategoricalHinge", CLASSES, SCORES) == pytest.approx(mean(0.5 - 0.25 + 1.0, 0.0))


def test_divergence() -> None:
    truth = [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]
    first = 0.5 * math.log(0.5 / 0.2) + 0.5 * math.log(0.5 / 0.7) + E * math.log(E / 0.1)
    second = 0.2 * math.log(0.2 / 0.5) + 0.3 * math.log(0.3 / 0.3) + 0.5 * math.log(0.5 / 0.2)
    assert loss("KLDivergence", truth, SHARES) == pytest.approx(mean(first, second))
    assert loss("KLDivergence", [[1.0, 0.0]], [[0.0, 2.0]]) == pytest.approx(math.log(1.0 / E) + E * math.log(E))


@pytest.mark.parametrize("gamma", [2.0, 0.5])
def test_binary_focal(gamma: float) -> None:
    expected = mean(0.3**gamma * -math.log(0.7), 0.4**gamma * -math.log(0.6))
    assert loss("BinaryFocalCrossentropy", [[1.0, 0.0]], [[0.7, 0.4]], gamma=gamma) == pytest.approx(expected)
    logits = [[math.log(0.7 / 0.3), math.log(0.4 / 0.6)]]
    found = loss("BinaryFocalCrossentropy", [[1.0, 0.0]], logits, gamma=gamma, from_logits=True)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("gamma", "alpha"), [(2.0, 0.25), (1.0, 1.0)])
def test_categorical_focal(gamma: float, alpha: float) -> None:
    params = {"gamma": gamma, "alpha": alpha}
    expected = alpha * mean(0.3**gamma * -math.log(0.7), 0.5**gamma * -math.log(0.5))
    assert loss("CategoricalFocalCrossentropy", CLASSES, SHARES, **params) == pytest.approx(expected)
    doubled = [[2.0 * share for share in row] for row in SHARES]
    assert loss("CategoricalFocalCrossentropy", CLASSES, doubled, **params) == pytest.approx(expected)
    logits = [[5.0 + math.log(share) for share in row] for row in SHARES]
    found = loss("CategoricalFocalCrossentropy", CLASSES, logits, from_logits=True, **params)
    assert found == pytest.approx(expected)


def test_overlaps() -> None:
    labels, guess = [[1.0, 0.0, 1.0]], [[0.5, 0.25, 1.0]]
    assert loss("Dice", labels, guess) == pytest.approx(1.0 - 2.0 * 1.5 / (2.0 + 1.75 + E), abs=1e-12)
    assert loss("Dice", [[0.0]], [[0.0]]) == 1.0  # nothing over epsilon
    expected = 1.0 - 1.5 / (1.5 + 0.3 * 0.25 + 0.7 * 0.5 + E)
    assert loss("Tversky", labels, guess, alpha=0.3, beta=0.7) == pytest.approx(expected, abs=1e-12)
    assert loss("Tversky", [[0.0]], [[0.0]]) == 1.0


def test_shares_and_logarithms() -> None:
    labels, guess = [[2.0, -4.0], [0.0, 1.0]], [[3.0, -1.0], [2e-7, 1.0]]
    expected = mean(50.0, 75.0, 200.0, 0.0)
    assert loss("MeanAbsolutePercentageError", labels, guess) == pytest.approx(expected)
    logs = [(math.log(4.0) - math.log(3.0)) ** 2, (math.log1p(E) - math.log(6.0)) ** 2]
    assert loss("MeanSquaredLogarithmicError", [[2.0, 5.0]], [[3.0, -1.0]]) == pytest.approx(mean(*logs))


def test_cosine() -> None:
    assert loss("CosineSimilarity", [[3.0, 4.0], [1.0, 0.0]], [[4.0, 3.0], [0.0, 2.0]]) == pytest.approx(
        mean(-24 / 25, 0)
    )
    assert loss("CosineSimilarity", [[0.0, 0.0]], [[1.0, 1.0]]) == 0.0
    assert loss("CosineSimilarity", [[1e-8, 0.0]], [[1.0, 0.0]]) == pytest.approx(-0.1)
    assert loss("CosineSimilarity", [[2.0, 0.0]], [[1e-9, 0.0]]) == pytest.approx(-0.01)


def test_huber() -> None:
    labels, guess = [[1.0, 2.0, -1.0]], [[1.25, -1.0, -0.5]]
    assert loss("Huber", labels, guess, delta=0.5) == pytest.approx(mean(0.03125, 1.5 - 0.125, 0.125))
    assert loss("Huber", labels, guess, delta=2.0) == pytest.approx(mean(0.03125, 6.0 - 2.0, 0.125))


def test_log_cosh() -> None:
    expected = mean(math.log(math.cosh(2.0)), math.log(math.cosh(0.5)))
    assert loss("LogCosh", [[1.0, 1.0]], [[3.0, 0.5]]) == pytest.approx(expected)


def test_poisson() -> None:
    assert loss("Poisson", [[2.0, 0.0]], [[0.5, 3.0]]) == pytest.approx(mean(0.5 - 2.0 * math.log(0.5 + E), 3.0))
    assert loss("Poisson", [[1.0]], [[0.0]]) == pytest.approx(-math.log(E))
