"""What the functions of ``keras.random`` draw, by their documentation: range, mean and variance of one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array

_PREFIX = "keras.random."


@dataclass(frozen=True)
class Distribution:
    """One number that is drawn; each of several along the last axis where these are arrays.

    Args:
        low: the least that may come, ``high`` the largest; ``open_end``: the largest itself may not.
        whole: whole numbers only.
        shuffled: nothing is drawn but the order of this.
        exactly: nothing is drawn at all: it is this, rounded once.
        orthogonal: rows or columns, whichever are fewer, have this length and are at right angles.
    """

    low: float
    high: float
    mean: Any
    variance: Any
    open_end: bool = False
    whole: bool = False
    shuffled: Array | None = None
    exactly: Array | None = None
    orthogonal: float | None = None


def distribution_of(api: str, arguments: Mapping[str, Any]) -> Distribution | None:
    """What a function draws with these arguments, arrays among them; None for one that is not known.

    Neither of one whose numbers are not drawn alike, because its arrays hold several numbers.
    """
    known = _KNOWN.get(api.removeprefix(_PREFIX)) if api.startswith(_PREFIX) else None
    try:
        return known(**{name: value for name, value in arguments.items() if name not in _NOT_ITS}) if known else None
    except TypeError:
        return None


#: Arguments that say how much is drawn, from where, and as what.
_NOT_ITS = ("shape", "seed", "dtype", "num_samples", "axis", "noise_shape")


def normal(mean: float = 0.0, stddev: float = 1.0) -> Distribution:
    return Distribution(-math.inf, math.inf, mean, stddev**2)


def truncated_normal(mean: float = 0.0, stddev: float = 1.0) -> Distribution:
    """Beyond two standard deviations everything is drawn again."""
    density, share = math.exp(-2.0) / math.sqrt(2 * math.pi), math.erf(math.sqrt(2.0))
    variance = stddev**2 * (1.0 - 4.0 * density / share)
    return Distribution(mean - 2 * stddev, mean + 2 * stddev, mean, variance)


def uniform(minval: float = 0.0, maxval: float = 1.0) -> Distribution:
    return Distribution(minval, maxval, (minval + maxval) / 2, (maxval - minval) ** 2 / 12, open_end=True)


def _randint(minval: int, maxval: int) -> Distribution:
    count = maxval - minval
    return Distribution(minval, maxval - 1, (minval + maxval - 1) / 2, (count**2 - 1) / 12, whole=True)


def _gamma(alpha: float) -> Distribution:
    return Distribution(0.0, math.inf, alpha, alpha)


def _beta(alpha: float, beta: float) -> Distribution:
    total = alpha + beta
    return Distribution(0.0, 1.0, alpha / total, alpha * beta / (total**2 * (total + 1)))


def _binomial(counts: float, probabilities: float) -> Distribution:
    mean = counts * probabilities
    return Distribution(0.0, counts, mean, mean * (1 - probabilities), whole=True)


def _categorical(logits: Array) -> Distribution | None:
    wide = np.asarray(logits, np.float64)[0]
    if (logits != logits[:1]).any():
        return None
    shares = np.exp(wide - wide.max()) / np.exp(wide - wide.max()).sum()
    places = np.arange(wide.size)
    mean = float(shares @ places)
    return Distribution(0, wide.size - 1, mean, float(shares @ (places - mean) ** 2), whole=True)


def _dropout(inputs: Array, rate: float) -> Distribution | None:
    size = float(np.asarray(inputs).reshape(-1)[0])
    if (inputs != inputs.reshape(-1)[0]).any():
        return None
    return Distribution(0.0, size / (1 - rate), size, size**2 * rate / (1 - rate))


def _shuffle(x: Array) -> Distribution:
    wide = np.asarray(x, np.float64)
    return Distribution(wide.min(), wide.max(), wide.mean(), wide.var(), shuffled=wide)


_KNOWN: Mapping[str, Callable[..., Distribution | None]] = {
    "normal": normal,
    "truncated_normal": truncated_normal,
    "uniform": uniform,
    "randint": _randint,
    "gamma": _gamma,
    "beta": _beta,
    "binomial": _binomial,
    "categorical": _categorical,
    "dropout": _dropout,
    "shuffle": _shuffle,
}
