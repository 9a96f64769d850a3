"""Optimizers with a step size per weight: one documented step of each, in float64."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ..reference.rounding import growth
from ..spec import Evaluation, Parameter, Params
from .options import Surroundings
from .spec import OptimizerSpec, State, slot

_RATE = Parameter("learning_rate", 0.001, (0.001, 0.01, 0.1), ("fast",))
_EPSILON = Parameter("epsilon", 1e-7, (1e-7, 1e-3), ("much",))
_BETA_1 = Parameter("beta_1", 0.9, (0.9, 0.5), ("much",))
_BETA_2 = Parameter("beta_2", 0.999, (0.999, 0.9), ("much",))


def _powers_left(params: Params, number: int) -> tuple[float, float]:
    """1 - beta_1^n and 1 - beta_2^n."""
    return 1.0 - params["beta_1"] ** number, 1.0 - params["beta_2"] ** number


def _powers_rounding(params: Params, number: int) -> float:
    """What forming them in the dtype may cost, relatively."""
    left_1, left_2 = _powers_left(params, number)
    return number * (1.0 / left_1 + 0.5 / left_2) + 8.0


def _moments(params: Params, gradient: Array, state: State) -> tuple[Array, Array]:
    first, second = slot(state, "momentum", gradient), slot(state, "velocity", gradient)
    return (
        first + (gradient - first) * (1.0 - params["beta_1"]),
        second + (np.square(gradient) - second) * (1.0 - params["beta_2"]),
    )


def _adagrad(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    start = np.full_like(gradient, params["initial_accumulator_value"])
    total = state.get("accumulator", start) + np.square(gradient)
    change = -params["learning_rate"] * gradient / np.sqrt(total + params["epsilon"])
    return Evaluation(change, 4.0 * np.abs(change)), {"accumulator": total}


def _adadelta(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    rho, epsilon = params["rho"], params["epsilon"]
    squares = rho * slot(state, "squares", gradient) + (1.0 - rho) * np.square(gradient)
    moved = slot(state, "moved", gradient)
    delta = -np.sqrt(moved + epsilon) * gradient / np.sqrt(squares + epsilon)
    change = params["learning_rate"] * delta
    slots = {"squares": squares, "moved": rho * moved + (1.0 - rho) * np.square(delta)}
    # 1 - rho is formed in the dtype, where it is small.
    return Evaluation(change, (8.0 + 1.0 / (1.0 - rho)) * np.abs(change)), slots


def _rmsprop(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    rho, momentum = params["rho"], params["momentum"]
    velocity = rho * slot(state, "velocity", gradient) + (1.0 - rho) * np.square(gradient)
    slots: dict[str, Array] = {"velocity": velocity}
    below, cancelled = velocity + params["epsilon"], velocity
    if params["centered"]:
        slots["average"] = rho * slot(state, "average", gradient) + (1.0 - rho) * gradient
        below, cancelled = below - np.square(slots["average"]), velocity + np.square(slots["average"])
    step = params["learning_rate"] * gradient / np.sqrt(below)
    relative = 6.0 + 1.0 / (1.0 - rho) + cancelled / below
    kappa = relative * np.abs(step)
    if momentum:
        carried = momentum * slot(state, "momentum", gradient)
        slots["momentum"] = carried + step
        return Evaluation(-slots["momentum"], kappa + np.abs(carried)), slots
    return Evaluation(-step, kappa), slots


def _adamax(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    first = slot(state, "momentum", gradient)
    first = first + (gradient - first) * (1.0 - params["beta_1"])
    largest = np.maximum(params["beta_2"] * slot(state, "norm", gradient), np.abs(gradient))
    left, _ = _powers_left(params, number)
    change = -params["learning_rate"] * first / (left * (largest + params["epsilon"]))
    return Evaluation(change, _powers_rounding(params, number) * np.abs(change)), {"momentum": first, "norm": largest}


def _nadam(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    beta_1 = params["beta_1"]
    now, following = (beta_1 * (1.0 - 0.5 * 0.96**step) for step in (number, number + 1))
    product = state.get("product", np.ones(())) * now
    first, second = _moments(params, gradient, state)
    ahead = following * first / (1.0 - product * following) + (1.0 - now) * gradient / (1.0 - product)
    _, left = _powers_left(params, number)
    change = -params["learning_rate"] * ahead / (np.sqrt(second / left) + params["epsilon"])
    size = np.abs(change) + params["learning_rate"] * np.abs(gradient) / (np.sqrt(second / left) + params["epsilon"])
    slots = {"momentum": first, "velocity": second, "product": product}
    return Evaluation(change, _powers_rounding(params, number) * size), slots


def _lion(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    carried = slot(state, "momentum", gradient)
    mixed = params["beta_1"] * carried + (1.0 - params["beta_1"]) * gradient
    change = -params["learning_rate"] * np.sign(mixed)
    # Where the two parts cancel, the sign is anybody's.
    size = np.abs(params["beta_1"] * carried) + np.abs((1.0 - params["beta_1"]) * gradient)
    unsure = (np.abs(mixed) <= 1e-5 * size) & (size > 0) & (carried != 0)
    kappa = np.where(unsure, 2.0 * params["learning_rate"] * 2.0**24, np.abs(change))
    slots = {"momentum": params["beta_2"] * carried + (1.0 - params["beta_2"]) * gradient}
    return Evaluation(change, kappa), slots


def _lamb(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    first, second = _moments(params, gradient, state)
    left_1, left_2 = _powers_left(params, number)
    update = (first / left_1) / (np.sqrt(second / left_2) + params["epsilon"])
    sizes = np.sqrt(np.sum(np.square(weight))), np.sqrt(np.sum(np.square(update)))
    ratio = sizes[0] / sizes[1] if sizes[0] > 0 and sizes[1] > 0 else 1.0
    change = -ratio * params["learning_rate"] * update
    terms = 2.0 * _powers_rounding(params, number) + 2.0 * growth(weight.size)
    return Evaluation(change, terms * np.abs(change)), {"momentum": first, "velocity": second}


def _ftrl(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    rate, power = params["learning_rate"], -params["learning_rate_power"]
    l1, l2 = params["l1_regularization_strength"], params["l2_regularization_strength"]
    before = state.get("accumulator", np.full_like(gradient, params["initial_accumulator_value"]))
    after = before + np.square(gradient)
    sigma = (after**power - before**power) / rate
    shrinkage = 2.0 * params["l2_shrinkage_regularization_strength"] * weight
    linear = slot(state, "linear", gradient) + gradient + shrinkage - sigma * weight
    below = (after**power + params["beta"]) / rate + 2.0 * l2
    new = (np.clip(linear, -l1, l1) - linear) / below
    # What is kept in z was rounded at every step before, and clipping may leave nothing but that.
    kappa = slot(state, "kappa", gradient) + np.abs(slot(state, "linear", gradient)) + np.abs(gradient)
    kappa = kappa + np.abs(shrinkage)
    kappa = kappa + (after**power + before**power) / rate * np.abs(weight) + l1
    slots = {"accumulator": after, "linear": linear, "kappa": kappa}
    return Evaluation(new - weight, 4.0 * kappa / below + 4.0 * np.abs(new)), slots


ADAPTIVE_OPTIMIZERS = (
    OptimizerSpec(
        "Adagrad",
        "keras.optimizers.Adagrad",
        (_RATE, Parameter("initial_accumulator_value", 0.1, (0.1, 1.0), ("much",)), _EPSILON),
        _adagrad,
        "a += g^2; w -= learning_rate * g / sqrt(a + epsilon)",
    ),
    OptimizerSpec(
        "Adadelta",
        "keras.optimizers.Adadelta",
        (_RATE, Parameter("rho", 0.95, (0.95, 0.5), ("much",)), _EPSILON),
        _adadelta,
        "s is the running mean of g^2, d of the squared steps; step = -sqrt(d + epsilon) / sqrt(s + epsilon) * g",
    ),
    OptimizerSpec(
        "RMSprop",
        "keras.optimizers.RMSprop",
        (
            _RATE,
            Parameter("rho", 0.9, (0.9, 0.5), ("much",)),
            Parameter("momentum", 0.0, (0.0, 0.5), ("much",)),
            _EPSILON,
            Parameter("centered", False, (False, True)),
        ),
        _rmsprop,
        "v is the running mean of g^2, less the squared mean of g where centered; w -= rate * g / sqrt(v + epsilon)",
    ),
    OptimizerSpec(
        "Adamax",
        "keras.optimizers.Adamax",
        (_RATE, _BETA_1, _BETA_2, _EPSILON),
        _adamax,
        "u = max(beta_2 u, |g|); w -= learning_rate * m / ((1 - beta_1^n) (u + epsilon))",
    ),
    OptimizerSpec(
        "Nadam",
        "keras.optimizers.Nadam",
        (_RATE, _BETA_1, _BETA_2, _EPSILON),
        _nadam,
        "Adam with Nesterov's look ahead, its momentum warmed up as beta_1 (1 - 0.96^n / 2)",
    ),
    OptimizerSpec(
        "Lion",
        "keras.optimizers.Lion",
        (_RATE, Parameter("beta_1", 0.9, (0.9, 0.5), (0.0, 1.5)), Parameter("beta_2", 0.99, (0.99, 0.9), ("much",))),
        _lion,
        "w -= learning_rate * sign(beta_1 m + (1 - beta_1) g); m = beta_2 m + (1 - beta_2) g",
    ),
    OptimizerSpec(
        "Lamb",
        "keras.optimizers.Lamb",
        (_RATE, _BETA_1, _BETA_2, _EPSILON),
        _lamb,
        "Adam's step, scaled by the norm of the weight over the norm of the step",
    ),
    OptimizerSpec(
        "Ftrl",
        "keras.optimizers.Ftrl",
        (
            _RATE,
            Parameter("learning_rate_power", -0.5, (-0.5, -1.0), (0.5,)),
            Parameter("initial_accumulator_value", 0.1, (0.1, 1.0), (-0.1,)),
            Parameter("l1_regularization_strength", 0.0, (0.0, 0.01), (-0.01,)),
            Parameter("l2_regularization_strength", 0.0, (0.0, 0.01), (-0.01,)),
            Parameter("l2_shrinkage_regularization_strength", 0.0, (0.0, 0.1), (-0.01,)),
            Parameter("beta", 0.0, (0.0, 0.5)),
        ),
        _ftrl,
        "z += g + 2 shrinkage w - (n'^-p - n^-p) / rate * w with n the sum of g^2; "
        "w = (clip(z, l1) - z) / ((n'^-p + beta) / rate + 2 l2)",
    ),
)
