"""Styles of the numbers of a metric's case: what its formula says something of, besides normal ones."""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ..spec import Params
from .spec import MetricSpec

#: How many samples there are: in most cases, in a batch of one, and in a larger one of another size.
SAMPLES = 8
_COUNTS = {"one": 1, "many": 37}
#: What large numbers are multiplied by: squares and sums of them still fit, and chances made of them are 0 and 1.
_LARGE = 1e4

_SIZES = ("one", "many")
_ANY = ("ties", "zeros", "ones", "large", *_SIZES)
#: By the kind of predictions. Which of equal scores comes first is nobody's promise.
_STYLES: dict[str, tuple[str, ...]] = {
    "values": _ANY,
    "positive": ("ties", "ones", *_SIZES),
    "chances": _ANY,
    "flat chances": _ANY,
    "probabilities": ("large", *_SIZES),
    "scores": ("large", *_SIZES),
    "logits": ("ties", *_SIZES),
    "indices": _SIZES,
    "grid": _SIZES,
}
#: Divide by what equal numbers, zeros or a single sample do not have: a spread, a length.
_NARROW: dict[str, tuple[str, ...]] = {
    "ConcordanceCorrelation": ("many",),
    "CosineSimilarity": ("large", *_SIZES),
    "PearsonCorrelation": ("many",),
    "R2Score": ("many",),
}


def styles_of(spec: MetricSpec, params: Params) -> tuple[str, ...]:
    """How the numbers of a metric may be drawn besides ``normal``."""
    if params.get("top_k") is not None:
        return _SIZES  # which of equal chances are among the first is nobody's promise, and large ones are 0 or 1
    return _NARROW.get(spec.name, _STYLES[spec.predictions])


def draw_style(spec: MetricSpec, params: Params, rng: np.random.Generator) -> str:
    """Normal numbers half of the time, else one of what the metric with these parameters says something of."""
    others = styles_of(spec, params)
    return "normal" if rng.random() < 0.5 else others[int(rng.integers(len(others)))]


def count_of(style: str) -> int:
    return _COUNTS.get(style, SAMPLES)


def draw_numbers(style: str, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """What predictions are made of; ties are of halves, so that chances meet a threshold at 0.5 alone."""
    if style in ("zeros", "ones"):
        return np.full(shape, float(style == "ones"))
    if style == "ties":
        return np.asarray(rng.integers(-2, 3, shape) / 2.0)
    return np.asarray(rng.normal(0.0, 2.0, shape) * (_LARGE if style == "large" else 1.0))
