"""What every Keras optimizer can be asked to do besides its own step: clip, decay, average, accumulate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..reference.rounding import growth
from ..spec import Conflict, Evaluation, Parameter, Params
from .schedules import SCHEDULED_RATES


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a step of one weight depends on besides that weight.

    Args:
        norm: the norm of the gradients of all weights; None where there is only this one.
        elements: how many numbers it sums.
        finite: whether the gradients of all weights are finite.
        path: the weight's own name, by which some optimizers choose.
        loss_scaled: the gradients are of the loss itself, which a training step scales as the optimizer asks, so that
            unscaling gives them back; otherwise they are given to the optimizer as they are.
    """

    norm: float | None = None
    elements: int = 0
    finite: bool = True
    path: str = ""
    loss_scaled: bool = False


#: In the order of the constructors; values that go together are in ``OPTION_SETTINGS``.
OPTIONS: tuple[Parameter, ...] = (
    Parameter("weight_decay", None, (None, 0.004, 0.1), ("much",)),
    Parameter("clipnorm", None, (None, 0.1, 1.0), ("much",)),
    Parameter("clipvalue", None, (None, 0.5), ("much",)),
    Parameter("global_clipnorm", None, (None, 1.0), ("much",)),
    Parameter("use_ema", False, (False, True)),
    Parameter("ema_momentum", 0.99, (0.99, 0.5)),
    Parameter("ema_overwrite_frequency", None, (None, 1, 2)),
    Parameter("loss_scale_factor", None, (None, 1024.0), ("much",)),
    Parameter("gradient_accumulation_steps", None, (None, 2), (1, -2, 1.5)),
)

_ONE_CLIPPING = "at most one of clipnorm, clipvalue and global_clipnorm is set"
OPTION_CONFLICTS: tuple[Conflict, ...] = (
    Conflict({"clipnorm": 1.0, "clipvalue": 0.5}, _ONE_CLIPPING),
    Conflict({"clipnorm": 1.0, "global_clipnorm": 1.0}, _ONE_CLIPPING),
    Conflict({"clipvalue": 0.5, "global_clipnorm": 1.0}, _ONE_CLIPPING),
    Conflict({"use_ema": True, "ema_momentum": 1.5}, "the share of an average is between 0 and 1"),
    Conflict({"use_ema": True, "ema_momentum": -0.5}, "the share of an average is between 0 and 1"),
    Conflict({"use_ema": True, "ema_overwrite_frequency": -1}, "a frequency is a positive whole number"),
    Conflict({"use_ema": True, "ema_overwrite_frequency": 1.5}, "a frequency is a positive whole number"),
)

#: Only one way of clipping at a time, and averages only show where they are written back.
OPTION_SETTINGS: tuple[dict[str, Json], ...] = (
    {"weight_decay": 0.1},
    {"clipnorm": 0.1},
    {"clipnorm": 1.0, "weight_decay": 0.004},
    {"clipvalue": 0.5},
    {"global_clipnorm": 1.0},
    {"use_ema": True, "ema_overwrite_frequency": 1},
    {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
    {"loss_scale_factor": 1024.0},
    {"gradient_accumulation_steps": 2},
    *({"learning_rate": rate} for rate in SCHEDULED_RATES),
)


def shows_after(setting: Params) -> int:
    """The step in which the setting first acts: before it, gradients are only summed and averages only kept."""
    return max(int(setting.get(name) or 1) for name in ("ema_overwrite_frequency", "gradient_accumulation_steps"))


def prepared_gradient(params: Params, gradient: Array, around: Surroundings) -> Evaluation:
    """The gradient as the step sees it: unscaled, then clipped."""
    scale = None if around.loss_scaled else params.get("loss_scale_factor")
    g = gradient / scale if scale else gradient
    kappa = np.zeros_like(g)
    if params.get("clipvalue"):
        return Evaluation(np.clip(g, -params["clipvalue"], params["clipvalue"]), kappa)
    if params.get("clipnorm"):
        norm, terms = float(np.sqrt(np.sum(np.square(g)))), growth(g.size)
        value = g * (params["clipnorm"] / max(norm, params["clipnorm"]))
        return Evaluation(value, (4.0 + terms) * np.abs(value))
    if params.get("global_clipnorm"):
        limit = params["global_clipnorm"]
        norm = float(np.sqrt(np.sum(np.square(g)))) if around.norm is None else around.norm / (scale or 1.0)
        value = g * (limit / max(norm, limit))
        return Evaluation(value, (4.0 + growth(max(around.elements, g.size))) * np.abs(value))
    return Evaluation(g, kappa)


def averaged_weight(params: Params, weight: Array, average: Array | None, number: int) -> tuple[Array, Array]:
    """The weight after the step, maybe overwritten by its running mean, and that mean."""
    momentum = 0.0 if average is None else float(params["ema_momentum"])
    mean = weight if average is None else momentum * average + (1.0 - momentum) * weight
    every = params["ema_overwrite_frequency"]
    return (mean if every and number % every == 0 else weight), mean
