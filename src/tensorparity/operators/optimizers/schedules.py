"""Learning rates that change with the step: what each documented schedule says, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...core.errors import UsageError
from ...core.jsontext import Json
from ..spec import Parameter, Params

#: The rate of a step, counted from 0, and how much of it rounding may be: in units of itself.
Rate = Callable[[Params, int], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """One schedule: ``rate`` is its value at a step, with the size of what is rounded on the way."""

    name: str
    api: str
    parameters: tuple[Parameter, ...]
    rate: Rate
    formula: str

    def at(self, params: Params, step: int) -> tuple[float, float]:
        return self.rate({**{parameter.name: parameter.default for parameter in self.parameters}, **params}, step)


def _exponential(params: Params, step: int) -> tuple[float, float]:
    share = step / params["decay_steps"]
    power = math.floor(share) if params["staircase"] else share
    value = params["initial_learning_rate"] * params["decay_rate"] ** power
    return value, value * (4.0 + power)


def _piecewise(params: Params, step: int) -> tuple[float, float]:
    boundaries, values = params["boundaries"], params["values"]
    value = next((value for bound, value in zip(boundaries, values, strict=False) if step <= bound), values[-1])
    return value, value


def _polynomial(params: Params, step: int) -> tuple[float, float]:
    initial, end, length = params["initial_learning_rate"], params["end_learning_rate"], params["decay_steps"]
    if params["cycle"]:
        length *= max(1, math.ceil(step / length))
    share = min(step, length) / length
    value = (initial - end) * (1.0 - share) ** params["power"] + end
    return value, 4.0 * (abs(initial) + abs(end))


def _inverse(params: Params, step: int) -> tuple[float, float]:
    share = step / params["decay_steps"]
    value = params["initial_learning_rate"] / (
        1.0 + params["decay_rate"] * (math.floor(share) if params["staircase"] else share)
    )
    return value, 4.0 * value


def _cosine(params: Params, step: int) -> tuple[float, float]:
    initial, target, warm = params["initial_learning_rate"], params["warmup_target"], params["warmup_steps"]
    if target is None:
        top, done = initial, step
    elif step < warm:
        return initial + (target - initial) * step / warm, 4.0 * (initial + target)
    else:
        top, done = target, step - warm
    share = min(done, params["decay_steps"]) / params["decay_steps"]
    value = top * ((1.0 - params["alpha"]) * 0.5 * (1.0 + math.cos(math.pi * share)) + params["alpha"])
    return value, 8.0 * top


def _restarts(params: Params, step: int) -> tuple[float, float]:
    length, begun, restarts = float(params["first_decay_steps"]), 0.0, 0
    while step >= begun + length:
        begun, length, restarts = begun + length, length * params["t_mul"], restarts + 1
    height = params["m_mul"] ** restarts * 0.5 * (1.0 + math.cos(math.pi * (step - begun) / length))
    value = params["initial_learning_rate"] * ((1.0 - params["alpha"]) * height + params["alpha"])
    return value, 8.0 * params["initial_learning_rate"] * (1.0 + restarts)


_INITIAL = Parameter("initial_learning_rate", None, (0.1, 0.01), required=True)
_STEPS = Parameter("decay_steps", None, (2, 10), (0, -1), required=True)
_STAIRCASE = Parameter("staircase", False, (False, True))

_ALL = (
    ScheduleSpec(
        "ExponentialDecay",
        "keras.optimizers.schedules.ExponentialDecay",
        (_INITIAL, _STEPS, Parameter("decay_rate", None, (0.5, 0.9), required=True), _STAIRCASE),
        _exponential,
        "initial * decay_rate^(step / decay_steps), the quotient without its fraction where staircase",
    ),
    ScheduleSpec(
        "PiecewiseConstantDecay",
        "keras.optimizers.schedules.PiecewiseConstantDecay",
        (
            Parameter("boundaries", None, ([1], [0]), required=True),
            Parameter("values", None, ([0.1, 0.01],), ([0.1],), required=True),
        ),
        _piecewise,
        "values[0] up to and including boundaries[0], values[1] up to boundaries[1], the last value beyond",
    ),
    ScheduleSpec(
        "PolynomialDecay",
        "keras.optimizers.schedules.PolynomialDecay",
        (
            _INITIAL,
            _STEPS,
            Parameter("end_learning_rate", 0.0001, (0.0001, 0.01)),
            Parameter("power", 1.0, (1.0, 2.0)),
            Parameter("cycle", False, (False, True)),
        ),
        _polynomial,
        "(initial - end) (1 - min(step, decay_steps) / decay_steps)^power + end; cycling, decay_steps grows instead",
    ),
    ScheduleSpec(
        "InverseTimeDecay",
        "keras.optimizers.schedules.InverseTimeDecay",
        (_INITIAL, _STEPS, Parameter("decay_rate", None, (0.5, 2.0), required=True), _STAIRCASE),
        _inverse,
        "initial / (1 + decay_rate step / decay_steps), the quotient without its fraction where staircase",
    ),
    ScheduleSpec(
        "CosineDecay",
        "keras.optimizers.schedules.CosineDecay",
        (
            _INITIAL,
            _STEPS,
            Parameter("alpha", 0.0, (0.0, 0.1)),
            Parameter("warmup_target", None, (None, 0.2)),
            Parameter("warmup_steps", 0, (0, 2)),
        ),
        _cosine,
        "linear up to warmup_target in warmup_steps, then times (1 - alpha) (1 + cos(pi t / decay_steps)) / 2 + alpha",
    ),
    ScheduleSpec(
        "CosineDecayRestarts",
        "keras.optimizers.schedules.CosineDecayRestarts",
        (
            _INITIAL,
            Parameter("first_decay_steps", None, (2, 10), required=True),
            Parameter("t_mul", 2.0, (2.0, 1.0)),
            Parameter("m_mul", 1.0, (1.0, 0.5)),
            Parameter("alpha", 0.0, (0.0, 0.1)),
        ),
        _restarts,
        "cosine decay again and again, each period t_mul times as long and m_mul times as high as the one before",
    ),
)

SCHEDULES: dict[str, ScheduleSpec] = {spec.name: spec for spec in _ALL}


def schedule_config(name: str, **params: Json) -> Json:
    """A schedule as a value of ``learning_rate``: what Keras serializes it to."""
    where = "keras.optimizers.schedules"
    return {"module": where, "class_name": name, "config": params, "registered_name": None}


#: Rates worth trying: each schedule where its first steps already differ.
SCHEDULED_RATES: tuple[Json, ...] = (
    schedule_config("ExponentialDecay", initial_learning_rate=0.1, decay_steps=2, decay_rate=0.5),
    schedule_config("ExponentialDecay", initial_learning_rate=0.1, decay_steps=2, decay_rate=0.5, staircase=True),
    schedule_config("PiecewiseConstantDecay", boundaries=[0, 1], values=[0.1, 0.01, 0.05]),
    schedule_config("PolynomialDecay", initial_learning_rate=0.1, decay_steps=2, end_learning_rate=0.01, power=2.0),
    schedule_config("PolynomialDecay", initial_learning_rate=0.1, decay_steps=1, end_learning_rate=0.01, cycle=True),
    schedule_config("InverseTimeDecay", initial_learning_rate=0.1, decay_steps=2, decay_rate=2.0),
    schedule_config("CosineDecay", initial_learning_rate=0.1, decay_steps=10, alpha=0.1),
    schedule_config("CosineDecay", initial_learning_rate=0.01, decay_steps=2, warmup_target=0.2, warmup_steps=2),
    schedule_config("CosineDecayRestarts", initial_learning_rate=0.1, first_decay_steps=10, m_mul=0.5),
)


def rate_at(learning_rate: Json, number: int) -> tuple[float, float]:
    """The rate of a step, counted from 1, and the size of its rounding; a constant is rounded once.

    Raises:
        UsageError: if it is a schedule that is not known.
    """
    if not isinstance(learning_rate, dict):
        return float(learning_rate), 0.0
    name = learning_rate.get("class_name")
    if name not in SCHEDULES:
        raise UsageError(f"unknown schedule {name!r}; known are {', '.join(SCHEDULES)}")
    return SCHEDULES[name].at(learning_rate.get("config", {}), number - 1)
