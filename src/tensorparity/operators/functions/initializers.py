"""What the initializers of Keras give, by their documentation: numbers that are drawn, or a matrix with a property."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .distributions import Distribution, normal, truncated_normal, uniform

PREFIX = "keras.initializers."

_Shape = Sequence[int]


def fans(shape: _Shape) -> tuple[float, float]:
    """Units in and out: of a kernel that is moved over an input, times the places that it sees at once."""
    if not shape:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    field = math.prod(shape[:-2])
    return float(field * shape[-2]), float(field * shape[-1])


def initialized(api: str, arguments: Mapping[str, Any], shape: _Shape) -> Distribution | None:
    """What an initializer with these arguments fills a shape with; None for one that is not known."""
    known = INITIALIZERS.get(api.removeprefix(PREFIX)) if api.startswith(PREFIX) else None
    return known(shape, **arguments) if known is not None else None


def _constant(shape: _Shape, value: float = 0.0) -> Distribution:
    return Distribution(value, value, value, 0.0, exactly=np.full(tuple(shape), value))


def _identity(shape: _Shape, gain: float = 1.0) -> Distribution:
    return Distribution(min(gain, 0.0), max(gain, 0.0), 0.0, 0.0, exactly=gain * np.eye(shape[0], shape[-1]))


def _orthogonal(shape: _Shape, gain: float = 1.0) -> Distribution:
    """All axes but the last are one: rows or columns, whichever are fewer, are orthogonal and of the same length."""
    return Distribution(-abs(gain), abs(gain), None, None, orthogonal=gain)


def _within_two(variance: float) -> Distribution:
    """A normal distribution cut off at two standard deviations, of this variance once it is cut."""
    plain = truncated_normal(0.0, 1.0)
    spread = math.sqrt(variance / plain.variance)
    return truncated_normal(0.0, spread)


def _scaled(
    shape: _Shape, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"
) -> Distribution:
    inside, outside = fans(shape)
    units = {"fan_in": inside, "fan_out": outside, "fan_avg": (inside + outside) / 2}[mode]
    variance = scale / max(units, 1.0)
    if distribution == "uniform":
        return uniform(-math.sqrt(3 * variance), math.sqrt(3 * variance))
    return normal(0.0, math.sqrt(variance)) if distribution == "untruncated_normal" else _within_two(variance)


def _by_scale(scale: float, mode: str, distribution: str) -> Callable[..., Distribution]:
    return lambda shape: _scaled(shape, scale, mode, distribution)


_CUT, _EVEN = "truncated_normal", "uniform"

#: By class; the seed is no argument of what is drawn.
INITIALIZERS: Mapping[str, Callable[..., Distribution]] = {
    "Zeros": lambda shape: _constant(shape, 0.0),
    "Ones": lambda shape: _constant(shape, 1.0),
    "Constant": _constant,
    "Identity": _identity,
    "Orthogonal": _orthogonal,
    "RandomNormal": lambda shape, mean=0.0, stddev=0.05: normal(mean, stddev),
    "TruncatedNormal": lambda shape, mean=0.0, stddev=0.05: truncated_normal(mean, stddev),
    "RandomUniform": lambda shape, minval=-0.05, maxval=0.05: uniform(minval, maxval),
    "VarianceScaling": _scaled,
    "GlorotUniform": _by_scale(1.0, "fan_avg", _EVEN),
    "GlorotNormal": _by_scale(1.0, "fan_avg", _CUT),
    "LecunUniform": _by_scale(1.0, "fan_in", _EVEN),
    "LecunNormal": _by_scale(1.0, "fan_in", _CUT),
    "HeUniform": _by_scale(2.0, "fan_in", _EVEN),
    "HeNormal": _by_scale(2.0, "fan_in", _CUT),
}
#: Those that draw, and so have a seed.
SEEDED = tuple(name for name in INITIALIZERS if name not in ("Zeros", "Ones", "Constant", "Identity"))
