"""Batch renormalization: the other formula by which BatchNormalization trains (Ioffe, 2017).

    output = gamma * ((input - mean) / stddev * r + d) + beta,  stddev = sqrt(variance + epsilon)
    r = clip(stddev / renorm_stddev, rmin, rmax),  d = clip((mean - renorm_mean) / renorm_stddev, -dmax, dmax)

mean and variance are of the batch, and r and d are constants to every gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import flag, is_number, number, refuse
from ..spec import Conflict, Evaluation, Parameter, Params, WeightSpec

#: Wide and narrow, some keys and all: by the last one r is 1 and d is 0.
_CLIPPINGS: tuple[Json, ...] = (
    None,
    {"rmax": 3.0, "rmin": 0.25, "dmax": 5.0},
    {"rmax": 1.25},
    {"rmin": 0.75, "dmax": 0.5},
    {"rmax": 1.0, "rmin": 1.0, "dmax": 0.0},
)
PARAMETERS = (
    Parameter("renorm", False, (False, True)),
    Parameter("renorm_clipping", None, _CLIPPINGS),
    Parameter("renorm_momentum", 0.99, (0.99, 0.9, 0.5)),
)
CONFLICTS = tuple(
    Conflict({"renorm": True, "renorm_clipping": clipping}, reason)
    for clipping, reason in (
        ({"rmax": 0.5, "rmin": 2.0}, "rmax is at least rmin"),
        ({"dmax": -1.0}, "dmax is not negative"),
        ({"rmax": 2.0, "maximum": 3.0}, "its keys are rmax, rmin and dmax"),
    )
)
#: The names of the factors that a gradient takes for constants.
FACTOR, OFFSET = "renorm_r", "renorm_d"


@dataclass(frozen=True, slots=True)
class RenormalizationLimits:
    """What r and d are clipped to."""

    rmin: float
    rmax: float
    dmax: float


def check(params: Params) -> None:
    """Raises ShapeError where the arguments rule each other out."""
    if flag(params, "renorm"):
        limits_of(params)
        number(params, "renorm_momentum")


def limits_of(params: Params) -> RenormalizationLimits:
    given = params["renorm_clipping"]
    known = {"rmin": 0.0, "rmax": math.inf, "dmax": math.inf}
    items = {} if given is None else given
    if not isinstance(items, dict) or set(items) - set(known) or not all(map(is_number, items.values())):
        refuse("renorm_clipping", "a dictionary of numbers by rmax, rmin and dmax", given)
    found = RenormalizationLimits(**{**known, **items})
    if found.rmax < found.rmin or found.dmax < 0:
        refuse("renorm_clipping", "rmin <= rmax and 0 <= dmax", given)
    return found


def weights(shape: tuple[int, ...]) -> dict[str, WeightSpec]:
    """What the layer holds besides a moving mean and variance."""
    return {
        "moving_stddev": WeightSpec(shape, "variance", trainable=False),
        "renorm_mean": WeightSpec(shape, "mean", trainable=False),
        "renorm_stddev": WeightSpec(shape, "variance", trainable=False),
    }


def correction(
    params: Params, mean: Array, variance: Array, own: Mapping[str, Array]
) -> tuple[dict[str, Array], Array]:
    """The correction by name, r and d, and the deviation that they are relative to, from statistics of one axis each.

    Deviations of batches are never below sqrt(epsilon), so a mean of them is not; Keras holds it to that.
    """
    limits, epsilon = limits_of(params), number(params, "epsilon")
    moving = np.maximum(own["renorm_stddev"], np.sqrt(epsilon))
    r = np.clip(np.sqrt(variance + epsilon) / moving, limits.rmin, limits.rmax)
    d = np.clip((mean - own["renorm_mean"]) / moving, -limits.dmax, limits.dmax)
    return {FACTOR: r, OFFSET: d}, moving


def after_call(
    params: Params, deviation: Evaluation, mean: Evaluation, before: Mapping[str, Array]
) -> dict[str, Evaluation]:
    """What the layer holds after one call, from what it held and from mean and deviation of the batch."""
    inference, own = number(params, "momentum"), number(params, "renorm_momentum")
    stddev = towards(before["moving_stddev"], deviation, inference)
    epsilon = number(params, "epsilon")
    return {
        "moving_mean": towards(before["moving_mean"], mean, inference),
        "moving_stddev": stddev,
        "moving_variance": Evaluation(
            np.maximum(np.square(stddev.value) - epsilon, 0.0),
            2.0 * np.abs(stddev.value) * (np.abs(stddev.value) + stddev.kappa) + epsilon,
        ),
        "renorm_mean": towards(before["renorm_mean"], mean, own),
        "renorm_stddev": towards(before["renorm_stddev"], deviation, own),
    }


def towards(before: Array, batch: Evaluation, momentum: float) -> Evaluation:
    """A moving average after one more batch."""
    old, share = momentum * before.astype(np.float64), 1.0 - momentum
    # the share is rounded as well: of 1 - 0.99 that is a hundred roundoffs
    sizes = np.abs(old) + np.abs(before) + share * batch.kappa + np.abs(batch.value)
    return Evaluation(old + share * batch.value, sizes)
