"""MultiOptimizer: each weight has an optimizer of its own, chosen by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..spec import Evaluation, Parameter, Params, ShapeError
from .loss_scale import inner
from .options import Surroundings
from .spec import OptimizerSpec, State


def optimizer_map(default: Json, **by_pattern: Json) -> Json:
    """A table as a value of ``optimizer_map``: what Keras serializes it to.

    Args:
        by_pattern: the optimizer of the weights whose names end with this word.
    """
    table = {f".*{ending}": recipe for ending, recipe in by_pattern.items()}
    return inner("OptimizerMap", default_optimizer=default, optimizer_map=table)


def optimizer_of_weight(table: Params, path: str) -> Json:
    """The optimizer of the weight of this name: its own entry, else the one pattern that matches, else the default.

    Raises:
        ShapeError: if two patterns match, which Keras refuses.
    """
    config = table["config"]
    entries: Params = config["optimizer_map"]
    if path in entries:
        return entries[path]
    matching = [recipe for pattern, recipe in entries.items() if re.fullmatch(pattern, path)]
    if len(matching) > 1:
        raise ShapeError(f"Expected one optimizer for {path!r}. Received: {len(matching)}")
    return matching[0] if matching else config["default_optimizer"]


def multi_optimizer(known: Mapping[str, OptimizerSpec]) -> OptimizerSpec:
    """The declaration; ``known`` are the optimizers that may be in the table."""

    def update(
        params: Params, weight: Array, gradient: Array, state: State, number: int, around: Surroundings
    ) -> tuple[Evaluation, State]:
        recipe = optimizer_of_weight(params["optimizer_map"], around.path)
        # The gradient is unscaled already, by the factor that overrides those in the table.
        config = {**recipe["config"], "loss_scale_factor": None}
        found = known[recipe["class_name"]].step(config, weight, gradient, state, number, around)
        return Evaluation(found.weight.value - weight, np.asarray(found.weight.kappa)), found.state

    slow, fast = inner("SGD", learning_rate=0.1), inner("Adam", learning_rate=0.01)
    return OptimizerSpec(
        "MultiOptimizer",
        "keras.optimizers.MultiOptimizer",
        (
            Parameter(
                "optimizer_map",
                None,
                (
                    optimizer_map(slow, bias=fast),
                    optimizer_map(fast),
                    optimizer_map(inner("RMSprop"), kernel=inner("SGD", learning_rate=0.1, momentum=0.9), gamma=slow),
                ),
                required=True,
            ),
            Parameter("loss_scale_factor", None, (None, 1024.0), ("much",)),
        ),
        update,
        "the step of the optimizer whose pattern the weight's whole path matches, else that of the default",
        options=False,
    )
