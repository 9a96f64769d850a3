"""Two steps of every adaptive optimizer, worked out on one number in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tensorparity.core.procedure import Recipe
from tensorparity.operators.optimizers.catalogue import evaluate_step

START, GRADIENTS = 2.0, (0.5, -1.5)
RATE, EPSILON = 0.1, 1e-3

#: The weight after each step.
Weights = Iterator[float]


def adagrad() -> Weights:
    w, total = START, 0.25
    for g in GRADIENTS:
        total += g * g
        w -= RATE * g / math.sqrt(total + EPSILON)
        yield w


def adadelta() -> Weights:
    w, squares, moved = START, 0.0, 0.0
    for g in GRADIENTS:
        squares = 0.75 * squares + 0.25 * g * g
        delta = -math.sqrt(moved + EPSILON) / math.sqrt(squares + EPSILON) * g
        moved = 0.75 * moved + 0.25 * delta * delta
        w += RATE * delta
        yield w


def rmsprop(centered: bool, momentum: float) -> Weights:
    w, square, average, carried = START, 0.0, 0.0, 0.0
    for g in GRADIENTS:
        square = 0.75 * square + 0.25 * g * g
        average = 0.75 * average + 0.25 * g
        below = square - (average**2 if centered else 0.0) + EPSILON
        carried = momentum * carried + RATE * g / math.sqrt(below)
        w -= carried
        yield w


def adamax() -> Weights:
    w, m, largest = START, 0.0, 0.0
    for step, g in enumerate(GRADIENTS, 1):
        m = 0.5 * m + 0.5 * g
        largest = max(0.9 * largest, abs(g))
        w -= RATE / (1 - 0.5**step) * m / (largest + EPSILON)
        yield w


def nadam() -> Weights:
    w, m, v, product = START, 0.0, 0.0, 1.0
    for step, g in enumerate(GRADIENTS, 1):
        now, following = 0.5 * (1 - 0.5 * 0.96**step), 0.5 * (1 - 0.5 * 0.96 ** (step + 1))
        product *= now
        m, v = 0.5 * m + 0.5 * g, 0.9 * v + 0.1 * g * g
        ahead = following * m / (1 - product * following) + (1 - now) * g / (1 - product)
        w -= RATE * ahead / (math.sqrt(v / (1 - 0.9**step)) + EPSILON)
        yield w


def lion() -> Weights:
    w, m = START, 0.0
    for g in (0.5, -0.2):  # the second step goes with what is carried, not with its gradient
        w -= RATE * math.copysign(1.0, 0.75 * m + 0.25 * g)
        m = 0.25 * m + 0.75 * g
        yield w


def lamb() -> Weights:
    w, m, v = START, 0.0, 0.0
    for step, g in enumerate(GRADIENTS, 1):
        m, v = 0.5 * m + 0.5 * g, 0.9 * v + 0.1 * g * g
        update = m / (1 - 0.5**step) / (math.sqrt(v / (1 - 0.9**step)) + EPSILON)
        w -= RATE * abs(w) / abs(update) * update
        yield w


def ftrl() -> Weights:
    w, n, z = START, 0.25, 0.0
    for g in GRADIENTS:
        after = n + g * g
        z += g - (math.sqrt(after) - math.sqrt(n)) / RATE * w
        n = after
        w = 0.0 if abs(z) <= 0.3 else (math.copysign(0.3, z) - z) / (math.sqrt(n) / RATE + 2 * 0.2)
        yield w


_BETAS = {"beta_1": 0.5, "beta_2": 0.9}
_CASES: list[tuple[str, dict[str, object], Callable[[], Weights]]] = [
    ("Adagrad", {"initial_accumulator_value": 0.25, "epsilon": EPSILON}, adagrad),
    ("Adadelta", {"rho": 0.75, "epsilon": EPSILON}, adadelta),
    ("RMSprop", {"rho": 0.75, "epsilon": EPSILON}, lambda: rmsprop(False, 0.0)),
    ("RMSprop", {"rho": 0.75, "epsilon": EPSILON, "centered": True}, lambda: rmsprop(True, 0.0)),
    ("RMSprop", {"rho": 0.75, "epsilon": EPSILON, "momentum": 0.5}, lambda: rmsprop(False, 0.5)),
    ("Adamax", {**_BETAS, "epsilon": EPSILON}, adamax),
    ("Nadam", {**_BETAS, "epsilon": EPSILON}, nadam),
    ("Lion", {"beta_1": 0.75, "beta_2": 0.25}, lion),
    ("Lamb", {**_BETAS, "epsilon": EPSILON}, lamb),
    (
        "Ftrl",
        {
            "initial_accumulator_value": 0.25,
            "l1_regularization_strength": 0.3,
            "l2_regularization_strength": 0.2,
        },
        ftrl,
    ),
]


@pytest.mark.parametrize(("name", "params", "by_hand"), _CASES)
def test_two_steps(name: str, params: dict[str, object], by_hand: Callable[[], Weights]) -> None:
    recipe = Recipe(name, {"learning_rate": RATE, **params})
    weight, state = np.array([START]), None
    gradients = (0.5, -0.2) if name == "Lion" else GRADIENTS
    for number, (gradient, expected) in enumerate(zip(gradients, by_hand(), strict=True), 1):
        found = evaluate_step(recipe, weight, np.array([gradient]), state, number)
        assert found.weight.value[0] == pytest.approx(expected, rel=1e-12)
        weight, state = found.weight.value, found.state


def test_lamb_scales_by_the_norms_of_all_weights() -> None:
    recipe = Recipe("Lamb", {"learning_rate": RATE, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 0.0})
    found = evaluate_step(recipe, np.array([3.0, 4.0]), np.array([0.5, -2.0]), None, 1)
    change = RATE * 5.0 / math.sqrt(2.0)  # the first update of Adam is the sign of the gradient
    assert found.weight.value.tolist() == pytest.approx([3.0 - change, 4.0 + change])
    still = evaluate_step(recipe, np.zeros(2), np.array([0.5, -2.0]), None, 1)
    assert still.weight.value.tolist() == pytest.approx([-RATE, RATE])
