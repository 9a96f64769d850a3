"""CTC by trying every path, Circle pair by pair, generalized cross-entropy and reductions by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tensorparity.core.procedure import Recipe
from tensorparity.operators.known_classes import LOSSES as PUBLIC
from tensorparity.operators.losses.catalogue import LOSSES, evaluate_loss


def loss(name: str, labels: object, predictions: object, **params: object) -> float:
    return float(evaluate_loss(Recipe(name, params), np.array(labels), np.array(predictions)).value)


def test_every_public_loss_is_declared() -> None:
    assert set(LOSSES) == set(PUBLIC) - {"Loss"}


def spelled(path: tuple[int, ...]) -> tuple[int, ...]:
    """A path without repetitions, then without blanks."""
    return tuple(symbol for symbol, _ in itertools.groupby(path) if symbol != 0)


@pytest.mark.parametrize("label", [(1, 2), (2, 2), (1,), (2, 1, 2)])
def test_ctc_is_the_sum_over_all_paths(label: tuple[int, ...]) -> None:
    logits = np.random.default_rng(4).normal(0, 2, (5, 3))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(3), repeat=5):
        if spelled(path) == label:
            total += math.prod(float(chances[step, symbol]) for step, symbol in enumerate(path))
    filled = [[*label, *[0] * (3 - len(label))]]
    assert loss("CTC", filled, logits[None]) == pytest.approx(-math.log(total))


def test_ctc_of_nothing_is_all_blanks() -> None:
    logits = np.log(np.array([[[0.5, 0.5], [0.25, 0.75]]]))
    assert loss("CTC", [[0]], logits) == pytest.approx(-math.log(0.125))


def test_circle() -> None:
    points = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    labels, gamma, margin = [0, 0, 1], 2.0, 0.25
    expected = []
    for i, one in enumerate(points):
        pulls, pushes = [], []
        for j, other in enumerate(points):
            d = 1.0 - sum(a * b for a, b in zip(one, other, strict=True))
            if labels[i] == labels[j] and i != j:
                pulls.append(gamma * (margin + d) * (d - margin))
            elif labels[i] != labels[j]:
                pushes.append(gamma * (1.0 + margin - d) * (1.0 - margin - d))
        if pulls and pushes:
            both = math.log(sum(map(math.exp, pulls))) + math.log(sum(map(math.exp, pushes)))
            expected.append(math.log1p(math.exp(both)))
    assert len(expected) == 2, "the third has no partner"
    found = loss("Circle", labels, points, gamma=gamma, margin=margin)
    assert found == pytest.approx(sum(expected) / 2, rel=1e-9)
    assert loss("Circle", labels, points, gamma=gamma, margin=margin, reduction="sum") == pytest.approx(sum(expected))
    assert loss("Circle", [0, 1, 2], points) == 0.0


def test_circle_with_the_diagonal() -> None:
    points = [[1.0, 0.0], [0.0, 1.0]]
    pull, push = 2.0 * 0.25 * -0.25, 2.0 * 0.25 * -0.25
    found = loss("Circle", [0, 1], points, gamma=2.0, margin=0.25, remove_diagonal=False)
    assert found == pytest.approx(math.log1p(math.exp(pull + push)))


def test_circle_is_held_to_its_value_where_samples_of_two_classes_are_in_one_place() -> None:
    """There it has a kink, which is a matter of gradients."""
    points = np.array([[1.0, 0.0], [1.0, 1e-4], [0.0, 1.0]])
    assert (LOSSES["Circle"].each({}, np.array([0, 1, 0]), points).kappa < 1e4).all()


def test_generalized_cross_entropy() -> None:
    chances = [[0.25, 0.75], [0.64, 0.36]]
    assert loss("CategoricalGeneralizedCrossEntropy", [0, 1], chances) == pytest.approx(
        ((1 - 0.5) + (1 - 0.6)) / 0.5 / 2
    )
    found = loss("CategoricalGeneralizedCrossEntropy", [[0], [1]], chances, q=0.1, reduction="sum")
    assert found == pytest.approx((2 - 0.25**0.1 - 0.36**0.1) / 0.1)


def test_sums_along_an_axis_and_over_samples() -> None:
    labels, guess = [[1.0, 0.0], [1.0, 1.0]], [[0.5, 0.5], [1.0, 0.0]]
    rows = [1.0 - 1.0 / (1.0 + 1.0 + 1e-7), 1.0 - 2.0 / (2.0 + 1.0 + 1e-7)]
    assert loss("Dice", labels, guess, axis=1) == pytest.approx(sum(rows) / 2)
    assert loss("Dice", labels, guess, axis=1, reduction="sum") == pytest.approx(sum(rows))
    tversky = [1.0 - 0.5 / (0.5 + 0.3 * 0.5 + 0.7 * 0.5), 1.0 - 1.0 / (1.0 + 0.7)]
    assert loss("Tversky", labels, guess, alpha=0.3, beta=0.7, axis=1) == pytest.approx(sum(tversky) / 2, rel=1e-6)
    assert loss("MeanSquaredError", labels, guess, reduction="sum") == pytest.approx((0.25 + 0.25 + 0.0 + 1.0) / 2)


def test_balanced_and_smoothed_focal() -> None:
    params = {"gamma": 1.0, "apply_class_balancing": True, "alpha": 0.75}
    expected = (0.75 * 0.3 * -math.log(0.7) + 0.25 * 0.4 * -math.log(0.6)) / 2
    assert loss("BinaryFocalCrossentropy", [[1.0, 0.0]], [[0.7, 0.4]], **params) == pytest.approx(expected)
    missed = 1.0 - (0.95 * 0.7 + 0.05 * 0.3)
    smoothed = missed * -(0.95 * math.log(0.7) + 0.05 * math.log(0.3))
    found = loss("BinaryFocalCrossentropy", [[1.0]], [[0.7]], gamma=1.0, label_smoothing=0.1)
    assert found == pytest.approx(smoothed)
