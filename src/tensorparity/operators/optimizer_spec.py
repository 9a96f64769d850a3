"""What has to be said of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..core.arrays import Array
from .spec import Evaluation, Parameter, Params

#: Slot arrays of one weight (``momentum``, ``velocity``); missing ones are zero, as at the start.
State = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Step:
    """One weight after one step, and the optimizer's slots for it."""

    weight: Evaluation
    state: State = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OptimizerSpec:
    """One optimizer.

    Args:
        update: the change of the weight with its rounding, and the new slots, from parameters, weight,
            gradient, slots and the number of the step, counted from 1.
    """

    name: str
    api: str
    parameters: tuple[Parameter, ...]
    update: Callable[[Params, Array, Array, State, int], tuple[Evaluation, State]]
    formula: str

    def step(self, params: Params, weight: Array, gradient: Array, state: State | None = None, number: int = 1) -> Step:
        """One step of one weight, on arrays of the dtype under test."""
        complete = {**{parameter.name: parameter.default for parameter in self.parameters}, **params}
        with np.errstate(all="ignore"):
            change, slots = self.update(
                complete, weight.astype(np.float64), gradient.astype(np.float64), state or {}, number
            )
        value = weight.astype(np.float64) + change.value
        return Step(Evaluation(value, np.abs(weight.astype(np.float64)) + np.abs(change.value) + change.kappa), slots)


def slot(state: State, name: str, gradient: Array) -> Array:
    """A slot of the weight, zeros before the first step."""
    return state[name] if name in state else np.zeros_like(gradient)
