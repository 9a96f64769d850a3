"""Every loss over random labels and predictions, one number at a time, with parameters drawn at random."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorparity.core.arrays import Array
from tensorparity.core.procedure import Recipe
from tensorparity.operators.losses.catalogue import LOSSES, evaluate_loss
from tensorparity.operators.losses.spec import AXIS

E = 1e-7
Row = Sequence[float]
#: Parameters, one row of labels and one of predictions, to the loss of the row.
PerRow = Callable[[dict[str, Any], Row, Row], float]


def mean(numbers: Row) -> float:
    return math.fsum(numbers) / len(numbers)


def clipped(p: float, top: float = 1.0 - E) -> float:
    return min(max(p, E), top)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def elementwise(function: Callable[[dict[str, Any], float, float], float]) -> PerRow:
    return lambda p, labels, guesses: mean([function(p, t, y) for t, y in zip(labels, guesses, strict=True)])


def binary(p: dict[str, Any], t: float, y: float) -> float:
    t = t * (1 - p["label_smoothing"]) + 0.5 * p["label_smoothing"]
    if p["from_logits"]:
        return t * math.log1p(math.exp(-abs(y))) + (1 - t) * math.log1p(math.exp(-abs(y))) + max(y, 0) - t * y
    return -t * math.log(clipped(y)) - (1 - t) * math.log1p(-clipped(y))


def binary_focal(p: dict[str, Any], t: float, y: float) -> float:
    t = t * (1 - p["label_smoothing"]) + 0.5 * p["label_smoothing"]
    chance = sigmoid(y) if p["from_logits"] else y
    of_truth = t * chance + (1 - t) * (1 - chance)
    balance = t * p["alpha"] + (1 - t) * (1 - p["alpha"]) if p["apply_class_balancing"] else 1.0
    return balance * (1 - of_truth) ** p["gamma"] * binary({"label_smoothing": 0.0, "from_logits": False}, t, chance)


def chances(p: dict[str, Any], guesses: Row) -> list[float]:
    powers = [math.exp(y - max(guesses)) for y in guesses] if p["from_logits"] else list(guesses)
    return [power / math.fsum(powers) for power in powers]


def categorical(p: dict[str, Any], labels: Row, guesses: Row) -> float:
    smoothing = p.get("label_smoothing", 0.0)
    truth = [t * (1 - smoothing) + smoothing / len(labels) for t in labels]
    shares = chances(p, guesses) if p["from_logits"] else [clipped(share) for share in chances(p, guesses)]
    return -math.fsum(t * math.log(share) for t, share in zip(truth, shares, strict=True))


def categorical_focal(p: dict[str, Any], labels: Row, guesses: Row) -> float:
    shares, smoothing = [clipped(share) for share in chances(p, guesses)], p["label_smoothing"]
    truth = [t * (1 - smoothing) + smoothing / len(labels) for t in labels]
    return -math.fsum(
        p["alpha"] * (1 - share) ** p["gamma"] * t * math.log(share) for t, share in zip(truth, shares, strict=True)
    )


def categorical_hinge(p: dict[str, Any], labels: Row, guesses: Row) -> float:
    right = math.fsum(t * y for t, y in zip(labels, guesses, strict=True))
    wrong = max((1 - t) * y for t, y in zip(labels, guesses, strict=True))
    return max(wrong - right + 1, 0.0)


def divergence(p: dict[str, Any], labels: Row, guesses: Row) -> float:
    pairs = [(clipped(t, 1.0), clipped(y, 1.0)) for t, y in zip(labels, guesses, strict=True)]
    return math.fsum(t * (math.log(t) - math.log(y)) for t, y in pairs)


def cosine(p: dict[str, Any], labels: Row, guesses: Row) -> float:
    return -math.fsum(t * y for t, y in zip(labels, guesses, strict=True)) / math.hypot(*labels) / math.hypot(*guesses)


PER_ROW: dict[str, PerRow] = {
    "MeanSquaredError": elementwise(lambda p, t, y: (t - y) ** 2),
    "MeanAbsoluteError": elementwise(lambda p, t, y: abs(t - y)),
    "MeanAbsolutePercentageError": elementwise(lambda p, t, y: 100 * abs(t - y) / max(abs(t), E)),
    "MeanSquaredLogarithmicError": elementwise(lambda p, t, y: (math.log1p(max(t, E)) - math.log1p(max(y, E))) ** 2),
    "CosineSimilarity": cosine,
    "Huber": elementwise(
        lambda p, t, y: (t - y) ** 2 / 2 if abs(t - y) <= p["delta"] else p["delta"] * (abs(t - y) - p["delta"] / 2)
    ),
    "LogCosh": elementwise(lambda p, t, y: math.log(math.cosh(y - t))),
    "Poisson": elementwise(lambda p, t, y: y - t * math.log(y + E)),
    "Hinge": elementwise(lambda p, t, y: max(1 - (2 * t - 1) * y, 0.0)),
    "SquaredHinge": elementwise(lambda p, t, y: max(1 - (2 * t - 1) * y, 0.0) ** 2),
    "CategoricalHinge": categorical_hinge,
    "KLDivergence": divergence,
    "BinaryCrossentropy": elementwise(binary),
    "BinaryFocalCrossentropy": elementwise(binary_focal),
    "CategoricalCrossentropy": categorical,
    "CategoricalFocalCrossentropy": categorical_focal,
    "CategoricalGeneralizedCrossEntropy": lambda p, t, y: (1 - y[list(t).index(1.0)] ** p["q"]) / p["q"],
}
#: Losses of whole sequences and batches: in ``test_structured``, path by path and pair by pair.
STRUCTURED = {"CTC", "Circle"}


def drawn_labels(kind: str, rng: np.random.Generator) -> Array:
    shape = (2, 3, 4)
    if kind == "classes":
        return np.eye(4)[rng.integers(4, size=shape[:-1])]
    if kind == "binary":
        return rng.integers(2, size=shape).astype(float)
    if kind == "distribution":
        shares = rng.uniform(0, 1, shape)
        return shares / shares.sum(axis=-1, keepdims=True)
    return rng.uniform(0.1, 3, shape) if kind == "positive" else rng.normal(0, 2, shape)


def drawn_predictions(kind: str, logits: bool, rng: np.random.Generator) -> Array:
    if logits:
        return rng.normal(0, 4, (2, 3, 4))
    if kind == "chances":
        return rng.uniform(0.01, 0.99, (2, 3, 4))
    return drawn_labels("distribution" if kind == "probabilities" else kind, rng)


@pytest.mark.parametrize("name", sorted(set(LOSSES) - STRUCTURED))
@settings(max_examples=20)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_the_mean_over_rows(name: str, data: st.DataObject, seed: int) -> None:
    spec, rng = LOSSES[name], np.random.default_rng(seed)
    chosen = {item.name: data.draw(st.sampled_from(item.valid), label=item.name) for item in spec.parameters}
    labels = drawn_labels(spec.labels, rng)
    guesses = drawn_predictions(spec.predictions, bool(chosen.get("from_logits")), rng)
    if spec.predictions == "probabilities":
        guesses = guesses * 3.0 if name != "KLDivergence" else guesses  # others make them sum to one themselves
    given_labels, given_guesses = labels.argmax(axis=-1) if spec.sparse else labels, guesses
    if AXIS in spec.parameters and chosen["axis"] == 1:
        given_labels = given_labels if spec.sparse else np.moveaxis(given_labels, -1, 1)
        given_guesses = np.moveaxis(guesses, -1, 1)
    found = evaluate_loss(Recipe(name, chosen), given_labels, given_guesses).value
    assert found == pytest.approx(expected(name, chosen, labels, guesses), rel=1e-9, abs=1e-12)


def expected(name: str, chosen: dict[str, Any], labels: Array, guesses: Array) -> float:
    if name in ("Dice", "Tversky"):
        if chosen["axis"] is None:
            return overlap(name, chosen, labels.ravel(), guesses.ravel())
        slices = (np.moveaxis(array, 1, -1).reshape(-1, array.shape[1]) for array in (labels, guesses))
        return mean([overlap(name, chosen, truth, guess) for truth, guess in zip(*slices, strict=True)])
    function = PER_ROW[name.removeprefix("Sparse")]
    rows = zip(labels.reshape(-1, labels.shape[-1]).tolist(), guesses.reshape(-1, 4).tolist(), strict=True)
    counted = [
        (truth, guess) for truth, guess in rows if chosen.get("ignore_class") is None or not ignored(chosen, truth)
    ]
    return mean([function(chosen, truth, guess) for truth, guess in counted]) if counted else 0.0


def ignored(chosen: dict[str, Any], truth: Row) -> bool:
    return truth.index(max(truth)) == chosen["ignore_class"]


def overlap(name: str, chosen: dict[str, Any], labels: Array, guesses: Array) -> float:
    pairs = list(zip(labels, guesses, strict=True))
    together = math.fsum(t * y for t, y in pairs)
    if name == "Dice":
        return 1 - 2 * together / (math.fsum(t + y for t, y in pairs) + E)
    missed, extra = math.fsum((1 - y) * t for t, y in pairs), math.fsum(y * (1 - t) for t, y in pairs)
    return 1 - together / (together + chosen["alpha"] * extra + chosen["beta"] * missed + E)


@pytest.mark.parametrize(
    ("name", "labels", "guesses", "expected"),
    [
        ("BinaryCrossentropy", [[0.0]], [[1.0]], -math.log1p(-(1 - E))),
        ("BinaryCrossentropy", [[1.0]], [[1.0]], -math.log(1 - E)),
        ("BinaryCrossentropy", [[0.0]], [[0.0]], -math.log1p(-E)),
        ("CategoricalCrossentropy", [[1.0, 0.0]], [[2.0, 0.0]], -math.log(1 - E)),
        ("CategoricalCrossentropy", [[0.0, 1.0]], [[2.0, 0.0]], -math.log(E)),
        ("CategoricalFocalCrossentropy", [[0.0, 1.0]], [[2.0, 0.0]], -0.25 * (1 - E) ** 2 * math.log(E)),
        ("CategoricalFocalCrossentropy", [[1.0, 0.0]], [[2.0, 0.0]], -0.25 * E**2 * math.log(1 - E)),
        ("KLDivergence", [[3.0]], [[0.5]], math.log(2.0)),
        ("KLDivergence", [[0.5]], [[3.0]], 0.5 * math.log(0.5)),
        ("Poisson", [[2.0]], [[0.0]], -2.0 * math.log(E)),
        ("Hinge", [[1.0, -1.0, 2.0]], [[0.5, 0.5, 0.25]], (0.5 + 1.5 + 0.5) / 3),
        ("Hinge", [[0.0, 0.0]], [[0.5, -3.0]], 0.75),
        ("Hinge", [[1.0, 1.0]], [[0.5, 3.0]], 0.25),
        ("MeanAbsolutePercentageError", [[0.0]], [[2 * E]], 200.0),
        ("LogCosh", [[0.0]], [[800.0]], 800.0 - math.log(2.0)),
    ],
)
def test_at_the_ends(name: str, labels: list[list[float]], guesses: list[list[float]], expected: float) -> None:
    found = float(evaluate_loss(Recipe(name, {}), np.array(labels), np.array(guesses)).value)
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    "name", ["CategoricalCrossentropy", "CategoricalFocalCrossentropy", "SparseCategoricalCrossentropy"]
)
@pytest.mark.parametrize("shift", [1000.0, -1000.0])
def test_logits_may_be_shifted(name: str, shift: float) -> None:
    labels = np.array([1, 0]) if name.startswith("Sparse") else np.array([[0.0, 1.0], [1.0, 0.0]])
    logits = np.array([[1.0, 3.0], [2.0, -1500.0]])
    recipe = Recipe(name, {"from_logits": True})
    plain, shifted = (evaluate_loss(recipe, labels, logits + by).value for by in (0.0, shift))
    assert np.isfinite(plain)
    assert shifted == pytest.approx(plain, rel=1e-9)


def test_large_logits_of_chances() -> None:
    found = evaluate_loss(
        Recipe("BinaryCrossentropy", {"from_logits": True}), np.array([[1.0, 0.0]]), np.array([[-900.0, 800.0]])
    )
    assert found.value == pytest.approx(850.0)
