"""Several steps of every optimizer on one number at a time, in plain Python, with parameters drawn at random."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorparity.core.procedure import Recipe
from tensorparity.operators.optimizers.catalogue import OPTIMIZERS, evaluate_step

#: Parameters, the weight at the start and its gradients, to the weight after each step.
Run = Callable[[dict[str, float], float, Sequence[float]], Iterator[float]]


def sgd(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    velocity = 0.0
    for g in gradients:
        velocity = p["momentum"] * velocity - p["learning_rate"] * g
        w += p["momentum"] * velocity - p["learning_rate"] * g if p["nesterov"] and p["momentum"] else velocity
        yield w


def adam(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    m = v = top = 0.0
    for step, g in enumerate(gradients, 1):
        w -= p.get("weight_decay", 0.0) * p["learning_rate"] * w
        m = p["beta_1"] * m + (1 - p["beta_1"]) * g
        v = p["beta_2"] * v + (1 - p["beta_2"]) * g * g
        top = max(top, v) if p["amsgrad"] else v
        rate = p["learning_rate"] * math.sqrt(1 - p["beta_2"] ** step) / (1 - p["beta_1"] ** step)
        w -= rate * m / (math.sqrt(top) + p["epsilon"])
        yield w


def adagrad(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    total = p["initial_accumulator_value"]
    for g in gradients:
        total += g * g
        w -= p["learning_rate"] * g / math.sqrt(total + p["epsilon"])
        yield w


def adadelta(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    squares = moved = 0.0
    for g in gradients:
        squares = p["rho"] * squares + (1 - p["rho"]) * g * g
        delta = math.sqrt((moved + p["epsilon"]) / (squares + p["epsilon"])) * g
        moved = p["rho"] * moved + (1 - p["rho"]) * delta * delta
        w -= p["learning_rate"] * delta
        yield w


def rmsprop(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    square = average = carried = 0.0
    for g in gradients:
        square = p["rho"] * square + (1 - p["rho"]) * g * g
        average = p["rho"] * average + (1 - p["rho"]) * g
        below = square - (average**2 if p["centered"] else 0.0) + p["epsilon"]
        carried = p["momentum"] * carried + p["learning_rate"] * g / math.sqrt(below)
        w -= carried
        yield w


def adamax(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    m = top = 0.0
    for step, g in enumerate(gradients, 1):
        m = p["beta_1"] * m + (1 - p["beta_1"]) * g
        top = max(p["beta_2"] * top, abs(g))
        w -= p["learning_rate"] / (1 - p["beta_1"] ** step) * m / (top + p["epsilon"])
        yield w


def nadam(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    m, v, product = 0.0, 0.0, 1.0
    for step, g in enumerate(gradients, 1):
        now, following = (p["beta_1"] * (1 - 0.5 * 0.96**count) for count in (step, step + 1))
        product *= now
        m = p["beta_1"] * m + (1 - p["beta_1"]) * g
        v = p["beta_2"] * v + (1 - p["beta_2"]) * g * g
        ahead = following * m / (1 - product * following) + (1 - now) * g / (1 - product)
        w -= p["learning_rate"] * ahead / (math.sqrt(v / (1 - p["beta_2"] ** step)) + p["epsilon"])
        yield w


def lion(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    m = 0.0
    for g in gradients:
        w -= p["learning_rate"] * math.copysign(1.0, p["beta_1"] * m + (1 - p["beta_1"]) * g)
        m = p["beta_2"] * m + (1 - p["beta_2"]) * g
        yield w


def lamb(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    """One number alone: the ratio of norms makes every step as long as the rate times the weight."""
    m = v = 0.0
    for step, g in enumerate(gradients, 1):
        m = p["beta_1"] * m + (1 - p["beta_1"]) * g
        v = p["beta_2"] * v + (1 - p["beta_2"]) * g * g
        update = m / (1 - p["beta_1"] ** step) / (math.sqrt(v / (1 - p["beta_2"] ** step)) + p["epsilon"])
        w -= p["learning_rate"] * (abs(w) / abs(update) if w and update else 1.0) * update
        yield w


def ftrl(p: dict[str, float], w: float, gradients: Sequence[float]) -> Iterator[float]:
    n, z, rate, power = p["initial_accumulator_value"], 0.0, p["learning_rate"], -p["learning_rate_power"]
    l1, l2 = p["l1_regularization_strength"], p["l2_regularization_strength"]
    for g in gradients:
        z += g + 2 * p["l2_shrinkage_regularization_strength"] * w - ((n + g * g) ** power - n**power) / rate * w
        n += g * g
        w = 0.0 if abs(z) <= l1 else (math.copysign(l1, z) - z) / ((n**power + p["beta"]) / rate + 2 * l2)
        yield w


RUNS: dict[str, Run] = {
    "SGD": sgd, "Adam": adam, "AdamW": adam, "Adagrad": adagrad, "Adadelta": adadelta, "RMSprop": rmsprop,
    "Adamax": adamax, "Nadam": nadam, "Lion": lion, "Lamb": lamb, "Ftrl": ftrl,
}  # fmt: skip

WEIGHTS = (2.0, -0.75)
GRADIENTS = ((0.5, 1.25), (-1.5, 0.125), (0.25, -2.0), (-0.375, -0.0625))


#: Their steps look at whole matrices, at more than one step, or at names: in ``test_more_optimizers_by_hand``.
OF_MATRICES = {"Adafactor", "LossScaleOptimizer", "MultiOptimizer", "Muon", "ScheduleFreeAdamW"}


def test_every_optimizer_is_there() -> None:
    assert set(RUNS) | OF_MATRICES == set(OPTIMIZERS)


@pytest.mark.parametrize("name", sorted(RUNS))
@settings(max_examples=15)
@given(data=st.data())
def test_four_steps(name: str, data: st.DataObject) -> None:
    chosen = {
        parameter.name: data.draw(st.sampled_from(parameter.valid), label=parameter.name)
        for parameter in OPTIMIZERS[name].parameters
    }
    width = 1 if name == "Lamb" else 2  # its norms are those of the whole weight
    expected = [list(RUNS[name](chosen, w, [step[k] for step in GRADIENTS])) for k, w in enumerate(WEIGHTS[:width])]
    weight, state = np.array(WEIGHTS[:width]), None
    for number, gradients in enumerate(GRADIENTS, 1):
        found = evaluate_step(Recipe(name, chosen), weight, np.array(gradients[:width]), state, number)
        wanted = [run[number - 1] for run in expected]
        np.testing.assert_allclose(found.weight.value, wanted, rtol=1e-10, atol=1e-13)
        weight, state = found.weight.value, found.state


@pytest.mark.parametrize("name", sorted(RUNS))
def test_defaults_are_the_documented_ones_and_the_first_step_is_number_one(name: str) -> None:
    defaults = {parameter.name: parameter.default for parameter in OPTIMIZERS[name].parameters}
    found = OPTIMIZERS[name].step({}, np.array([2.0]), np.array([0.5]))
    assert found.weight.value[0] == pytest.approx(next(RUNS[name](defaults, 2.0, [0.5])), rel=1e-12)


def test_lamb_takes_the_norms_of_the_whole_weight() -> None:
    params = {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3}
    weight, gradient = np.array([[3.0, -1.0], [0.5, 2.0]]), np.array([[0.5, -2.0], [1.0, 0.25]])
    found = evaluate_step(Recipe("Lamb", params), weight, gradient).weight.value
    update = [g / (abs(g) + 1e-3) for g in gradient.ravel()]  # corrected moments of the first step: g and g^2
    ratio = math.hypot(*weight.ravel()) / math.hypot(*update)
    np.testing.assert_allclose(
        found.ravel(), [w - 0.1 * ratio * u for w, u in zip(weight.ravel(), update, strict=True)]
    )
    from_zero = evaluate_step(Recipe("Lamb", params), 0.0 * weight, gradient).weight.value
    np.testing.assert_allclose(from_zero.ravel(), [-0.1 * u for u in update])
    still = evaluate_step(Recipe("Lamb", params), weight, 0.0 * gradient).weight.value
    np.testing.assert_array_equal(still, weight)


def test_lion_carries_a_mean_of_the_gradients() -> None:
    params = {"beta_1": 0.9, "beta_2": 0.75}
    first = evaluate_step(Recipe("Lion", params), np.array([1.0]), np.array([2.0]))
    second = evaluate_step(Recipe("Lion", params), first.weight.value, np.array([-8.0]), first.state, 2)
    assert first.state["momentum"].tolist() == [0.5]
    assert second.state["momentum"].tolist() == [0.75 * 0.5 - 0.25 * 8.0]
