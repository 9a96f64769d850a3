"""LossScaleOptimizer: another optimizer's step on gradients that are made smaller first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..spec import Evaluation, Parameter, Params
from .options import Surroundings
from .spec import OptimizerSpec, State


def inner(name: str, **params: Json) -> Json:
    """An optimizer as a value of ``inner_optimizer``: what Keras serializes it to."""
    return {"module": "keras.optimizers", "class_name": name, "config": params, "registered_name": None}


def loss_scale(known: Mapping[str, OptimizerSpec]) -> OptimizerSpec:
    """The declaration; ``known`` are the optimizers that may be inside."""

    def update(
        params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
    ) -> tuple[Evaluation, State]:
        scale = float(state["scale"]) if "scale" in state else float(params["initial_scale"])
        grown = int(state["grown"]) if "grown" in state else 0
        taken = int(state["taken"]) if "taken" in state else 0
        rest = {name: value for name, value in state.items() if name not in ("scale", "grown", "taken")}
        if not around.finite or not np.isfinite(gradient).all():
            slots = {**rest, "scale": np.asarray(scale / 2.0), "grown": np.asarray(0), "taken": np.asarray(taken)}
            return Evaluation(np.zeros_like(weight), np.zeros_like(weight)), slots
        by = 1.0 if around.loss_scaled else scale
        norm = None if around.norm is None else around.norm / by
        recipe = params["inner_optimizer"]
        found = known[recipe["class_name"]].step(
            recipe["config"], weight, gradient / by, rest, taken + 1, replace(around, norm=norm)
        )
        due = grown == params["dynamic_growth_steps"] - 1
        own = {
            "scale": np.asarray(scale * 2.0 if due else scale),
            "grown": np.asarray(0 if due else grown + 1),
            "taken": np.asarray(taken + 1),
        }
        return Evaluation(found.weight.value - weight, found.weight.kappa), {**found.state, **own}

    return OptimizerSpec(
        "LossScaleOptimizer",
        "keras.optimizers.LossScaleOptimizer",
        (
            Parameter(
                "inner_optimizer",
                None,
                (
                    inner("SGD", learning_rate=0.1, momentum=0.9),
                    inner("Adam", learning_rate=0.01),
                    inner("SGD", learning_rate=0.1, clipnorm=0.1),
                ),
                required=True,
            ),
            Parameter("initial_scale", 32768.0, (32768.0, 8.0), ("much",)),
            Parameter("dynamic_growth_steps", 2000, (2000, 1), ("much",)),
        ),
        update,
        "the inner optimizer's step on the gradient / scale; the scale doubles after so many steps, and where a "
        "gradient is not finite it is halved and nothing is done",
        options=False,
    )
