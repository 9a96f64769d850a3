"""What has to be said of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..spec import Evaluation, Parameter, Params, ruled_out
from .options import OPTION_CONFLICTS, OPTION_SETTINGS, OPTIONS, Surroundings, averaged_weight, prepared_gradient
from .schedules import rate_at

#: Slot arrays of one weight (``momentum``, ``velocity``); missing ones are zero, as at the start.
State = Mapping[str, Array]

#: Change of the weight and new slots, from parameters, weight, gradient, slots, the step's number and the rest.
Update = Callable[[Params, Array, Array, State, int, Surroundings], tuple[Evaluation, State]]

#: A share by which gradient and rate are moved to see what their rounding does to the step.
_NUDGE = 2.0**-20


@dataclass(frozen=True, slots=True)
class OptimizerStep:
    """One weight after one step, and the optimizer's slots for it."""

    weight: Evaluation
    state: State = field(default_factory=dict)


def _shared_decay(params: Params, weight: Array, around: Surroundings) -> float:
    return float(params.get("weight_decay") or 0.0)


def _no_slots(params: Params, weight: Array) -> State:
    return {}


@dataclass(frozen=True, slots=True)
class OptimizerSpec:
    """One optimizer.

    Args:
        update: the change of the weight with its rounding, and the new slots, from parameters, weight,
            gradient, slots and the number of the step, counted from 1. ``learning_rate`` is a number by then.
        decay: the share, in units of the rate, by which the weight is made smaller before its step.
        start: slots that do not start at zero.
        options: whether it takes what all optimizers take (clipping, averages, schedules ...).
    """

    name: str
    api: str
    parameters: tuple[Parameter, ...]
    update: Update
    formula: str
    decay: Callable[[Params, Array, Surroundings], float] = _shared_decay
    start: Callable[[Params, Array], State] = _no_slots
    options: bool = True

    def settings(self) -> tuple[dict[str, Json], ...]:
        """Values of the shared options that fit together."""
        return OPTION_SETTINGS if self.options else ()

    def complete(self, params: Params) -> dict[str, Json]:
        """``params`` with the defaults filled in; an optimizer's own override the shared ones."""
        declared = (*(OPTIONS if self.options else ()), *self.parameters)
        return {**{parameter.name: parameter.default for parameter in declared}, **params}

    def invalid(self, params: Params) -> dict[str, Json]:
        """The parameters whose values the documentation rules out, alone or together."""
        if not self.options:
            return ruled_out(self.parameters, params)
        return ruled_out((*OPTIONS, *self.parameters), params, OPTION_CONFLICTS)

    def step(
        self,
        params: Params,
        weight: Array,
        gradient: Array,
        state: State | None = None,
        number: int = 1,
        around: Surroundings | None = None,
    ) -> OptimizerStep:
        """One step of one weight, on arrays of the dtype under test."""
        complete, surroundings = self.complete(params), around or Surroundings()
        w, g = weight.astype(np.float64), gradient.astype(np.float64)
        slots = dict(state) if state else dict(self.start(complete, w))
        every = complete.get("gradient_accumulation_steps")
        if every:
            total = slots.pop("accumulated", np.zeros_like(g)) + g
            if number % every:
                return OptimizerStep(Evaluation(w, np.zeros_like(w)), {**slots, "accumulated": total})
            g = total / every
        with np.errstate(all="ignore"):
            return self._step(complete, w, g, slots, number, surroundings)

    def _step(
        self, params: Params, w: Array, g: Array, slots: dict[str, Array], number: int, around: Surroundings
    ) -> OptimizerStep:
        rate, rate_rounding = rate_at(params["learning_rate"], number) if "learning_rate" in params else (0.0, 0.0)
        own = {**params, "learning_rate": rate}
        lost = self.decay(own, w, around) * rate * w
        seen, decayed = prepared_gradient(own, g, around), w - lost
        taken = number // (own.get("gradient_accumulation_steps") or 1)
        average = slots.pop("mean of weights", None)
        change, after = self.update(own, decayed, seen.value, slots, taken, around)
        kappa = np.abs(w) + np.abs(lost) + np.abs(change.value) + change.kappa
        if seen.kappa.any():
            for moved in (seen.kappa, np.sign(seen.value) * seen.kappa):
                other, _ = self.update(own, decayed, seen.value + _NUDGE * moved, slots, taken, around)
                kappa = kappa + np.abs(other.value - change.value) / _NUDGE
        if rate_rounding:
            faster = {**own, "learning_rate": rate + _NUDGE * rate_rounding}
            other, _ = self.update(faster, decayed, seen.value, slots, taken, around)
            kappa = kappa + np.abs(other.value - change.value) / _NUDGE
        value = decayed + change.value
        if own.get("use_ema"):
            value, mean = averaged_weight(own, value, average, taken)
            after = {**after, "mean of weights": mean}
            kappa = 2.0 * kappa + np.abs(mean)
        return OptimizerStep(Evaluation(value, kappa), after)


def slot(state: State, name: str, gradient: Array) -> Array:
    """A slot of the weight, zeros before the first step."""
    return state[name] if name in state else np.zeros_like(gradient)
