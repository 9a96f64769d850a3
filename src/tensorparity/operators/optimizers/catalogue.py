"""Optimizers: documented defaults, and one step in float64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array
from ...core.errors import UsageError
from ...core.procedure import Recipe
from ..spec import Evaluation, Parameter, Params
from .adaptive_steps import ADAPTIVE_OPTIMIZERS
from .loss_scale import loss_scale
from .matrix_steps import MATRIX_OPTIMIZERS
from .multi_optimizer import multi_optimizer
from .options import Surroundings
from .spec import OptimizerSpec, OptimizerStep, State, slot


def _sgd(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    pull, momentum = params["learning_rate"] * gradient, params["momentum"]
    if not momentum:
        return Evaluation(-pull, np.abs(pull)), {}
    carried = momentum * slot(state, "momentum", gradient)
    velocity = carried - pull
    rounding = np.abs(carried) + np.abs(pull)
    if not params["nesterov"]:
        return Evaluation(velocity, rounding), {"momentum": velocity}
    change = momentum * velocity - pull
    return Evaluation(change, 2.0 * momentum * rounding + np.abs(pull)), {"momentum": velocity}


def _adam(
    params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
) -> tuple[Evaluation, State]:
    beta_1, beta_2 = params["beta_1"], params["beta_2"]
    old, old_square = slot(state, "momentum", gradient), slot(state, "velocity", gradient)
    first = old + (gradient - old) * (1.0 - beta_1)
    second = old_square + (np.square(gradient) - old_square) * (1.0 - beta_2)
    slots = {"momentum": first, "velocity": second}
    if params["amsgrad"]:
        slots["velocity_hat"] = second = np.maximum(slot(state, "velocity_hat", gradient), second)
    left_1, left_2 = 1.0 - beta_1**number, 1.0 - beta_2**number
    rate = params["learning_rate"] * np.sqrt(left_2) / left_1
    bottom = np.sqrt(second) + params["epsilon"]
    change = -rate * first / bottom
    # 1 - beta^n is formed in the dtype: what rounding beta^n does to it is amplified by the small difference.
    relative = number * (1.0 / left_1 + 0.5 / left_2) + 4.0
    cancelled = rate * (np.abs(old) + np.abs(gradient - old) * (1.0 - beta_1)) / bottom
    return Evaluation(change, relative * np.abs(change) + 2.0 * cancelled), slots


_ADAM = (
    Parameter("learning_rate", 0.001, (0.001, 0.01, 0.1), ("fast",)),
    Parameter("beta_1", 0.9, (0.9, 0.5), ("much",)),
    Parameter("beta_2", 0.999, (0.999, 0.9), ("much",)),
    Parameter("epsilon", 1e-7, (1e-7, 1e-3), ("much",)),
    Parameter("amsgrad", False, (False, True)),
)

_PLAIN = (
    OptimizerSpec(
        "SGD",
        "keras.optimizers.SGD",
        (
            Parameter("learning_rate", 0.01, (0.01, 0.1, 1.0), ("fast",)),
            Parameter("momentum", 0.0, (0.0, 0.5, 0.9), (-0.1, 1.5)),
            Parameter("nesterov", False, (False, True)),
        ),
        _sgd,
        "velocity = momentum * velocity - learning_rate * g; w += velocity, or with nesterov "
        "w += momentum * velocity - learning_rate * g",
    ),
    OptimizerSpec(
        "Adam",
        "keras.optimizers.Adam",
        _ADAM,
        _adam,
        "m and v are running means of g and g^2; w -= learning_rate * sqrt(1 - beta_2^n) / (1 - beta_1^n) * "
        "m / (sqrt(v) + epsilon)",
    ),
    OptimizerSpec(
        "AdamW",
        "keras.optimizers.AdamW",
        (*_ADAM, Parameter("weight_decay", 0.004, (0.004, 0.1), (None,))),
        _adam,
        "Adam's step, and w -= weight_decay * learning_rate * w",
    ),
)


OPTIMIZERS: dict[str, OptimizerSpec] = {spec.name: spec for spec in (*_PLAIN, *ADAPTIVE_OPTIMIZERS, *MATRIX_OPTIMIZERS)}
OPTIMIZERS["LossScaleOptimizer"] = loss_scale(OPTIMIZERS)
OPTIMIZERS["MultiOptimizer"] = multi_optimizer(OPTIMIZERS)


def optimizer(name: str) -> OptimizerSpec:
    """The declaration of an optimizer.

    Raises:
        UsageError: if there is none of that name.
    """
    if name not in OPTIMIZERS:
        raise UsageError(f"unknown optimizer {name!r}; known are {', '.join(OPTIMIZERS)}")
    return OPTIMIZERS[name]


def evaluate_step(
    recipe: Recipe,
    weight: Array,
    gradient: Array,
    state: State | None = None,
    number: int = 1,
    around: Surroundings | None = None,
) -> OptimizerStep:
    """One float64 step of the optimizer a procedure names."""
    return optimizer(recipe.name).step(recipe.params, weight, gradient, state, number, around)


def surroundings(gradients: Mapping[str, Array], path: str) -> Surroundings:
    """What the training step of the weight of this name depends on, from the gradients of all weights."""
    with np.errstate(all="ignore"):
        squares = sum(float(np.sum(np.square(gradient.astype(np.float64)))) for gradient in gradients.values())
    finite = all(bool(np.isfinite(gradient).all()) for gradient in gradients.values())
    elements = sum(gradient.size for gradient in gradients.values())
    return Surroundings(float(np.sqrt(squares)), elements, finite, path, loss_scaled=True)
