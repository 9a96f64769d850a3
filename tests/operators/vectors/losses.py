"""Losses at the edges, by hand from the documentation: labels, predictions, and the loss of each sample.

An infinite prediction, one that is NaN, no sample at all, and, of losses of chances, one that is certain and wrong. A
chance is kept 1e-7 away from 0 and 1 where a logarithm is taken of it, so that certainty has a loss: ``WRONG`` where it
is wrong, ``RIGHT`` where not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .numbers import HUGE, INF, NAN

#: Minus the logarithms of 1e-7 and of 1 - 1e-7.
WRONG, RIGHT = 7 * math.log(10.0), -math.log1p(-1e-7)
_LN2 = math.log(2.0)


@dataclass(frozen=True)
class LossVector:
    """Labels and predictions of some samples, and what each loses."""

    labels: Any
    predictions: Any
    value: Any
    params: Mapping[str, Any] = field(default_factory=dict)


def _each(*triples: tuple[list[float], list[float], float], **params: Any) -> list[LossVector]:
    """One sample a vector; last, none of them."""
    width = len(triples[0][1])
    found = [LossVector([labels], [predictions], [value], params) for labels, predictions, value in triples]
    return [*found, LossVector(_none(width), _none(width), [], params)]


def _classes(*triples: tuple[int, list[float], float]) -> list[LossVector]:
    """The same of labels that are the index of a class."""
    found = [LossVector([label], [predictions], [value]) for label, predictions, value in triples]
    return [*found, LossVector([], _none(len(triples[0][1])), [])]


def _whole(*triples: tuple[list[float], list[float], float]) -> list[LossVector]:
    """All samples have one loss together; of none it is what the formula leaves."""
    return [LossVector([[x] for x in labels], [[x] for x in given], value) for labels, given, value in triples]


def _none(width: int) -> Any:
    """No sample, of so many numbers."""
    return ("none", width)


VECTORS: dict[str, list[LossVector]] = {
    "MeanSquaredError": _each(
        ([0.0, 0.0], [INF, 0.0], INF),
        ([0.0, 0.0], [NAN, 0.0], NAN),
        ([INF, 0.0], [INF, 0.0], NAN),
        ([0.0, 0.0], [HUGE, 0.0], INF),
    ),
    "MeanAbsoluteError": _each(
        ([0.0, 0.0], [-INF, 0.0], INF), ([0.0, 0.0], [NAN, 0.0], NAN), ([0.0, 0.0], [HUGE, 0.0], HUGE / 2)
    ),
    "BinaryCrossentropy": [
        *_each(
            ([1.0], [1.0], RIGHT),
            ([1.0], [0.0], WRONG),
            ([0.0], [1.0], WRONG),
            ([1.0], [INF], RIGHT),
            ([1.0], [NAN], NAN),
        ),
        *_each(([1.0], [1000.0], 0.0), ([0.0], [1000.0], 1000.0), ([1.0], [-1000.0], 1000.0), from_logits=True),
    ],
    "CategoricalCrossentropy": [
        *_each(
            ([1.0, 0.0], [1.0, 0.0], RIGHT),
            ([1.0, 0.0], [0.0, 1.0], WRONG),
            ([1.0, 0.0], [INF, 1.0], NAN),
            ([1.0, 0.0], [NAN, 1.0], NAN),
        ),
        *_each(([1.0, 0.0], [1000.0, 0.0], 0.0), ([0.0, 1.0], [1000.0, 0.0], 1000.0), from_logits=True),
    ],
    "SparseCategoricalCrossentropy": _classes(
        (0, [1.0, 0.0], RIGHT), (0, [0.0, 1.0], WRONG), (0, [INF, 1.0], NAN), (0, [NAN, 1.0], NAN)
    ),
    "MeanAbsolutePercentageError": _each(
        ([1.0, 1.0], [INF, 1.0], INF), ([1.0, 1.0], [NAN, 1.0], NAN), ([0.0, 1.0], [1.0, 1.0], 5e8)
    ),
    "MeanSquaredLogarithmicError": _each(
        ([0.0], [INF], INF), ([0.0], [NAN], NAN), ([0.0], [0.0], 0.0), ([0.0], [HUGE], math.log(HUGE) ** 2)
    ),
    "CosineSimilarity": _each(
        ([1.0, 0.0], [INF, 0.0], NAN),
        ([1.0, 0.0], [NAN, 0.0], NAN),
        ([1.0, 0.0], [0.0, 0.0], 0.0),
        ([1.0, 0.0], [0.0, 5.0], 0.0),
        ([2.0, 0.0], [-5.0, 0.0], 1.0),
    ),
    "Huber": _each(
        ([0.0], [INF], INF), ([0.0], [-INF], INF), ([0.0], [NAN], NAN), ([0.0], [1.0], 0.5), ([0.0], [HUGE], HUGE)
    ),
    "LogCosh": _each(([0.0], [INF], INF), ([0.0], [-INF], INF), ([0.0], [NAN], NAN), ([0.0], [-1000.0], 1000.0 - _LN2)),
    "Poisson": _each(([1.0], [INF], NAN), ([1.0], [NAN], NAN), ([1.0], [0.0], WRONG), ([0.0], [0.0], 0.0)),
    "Hinge": _each(
        ([1.0], [INF], 0.0), ([1.0], [-INF], INF), ([0.0], [-INF], 0.0), ([1.0], [NAN], NAN), ([1.0], [1.0], 0.0)
    ),
    "SquaredHinge": _each(
        ([1.0], [INF], 0.0), ([1.0], [-INF], INF), ([-1.0], [INF], INF), ([1.0], [NAN], NAN), ([1.0], [-1.0], 4.0)
    ),
    "CategoricalHinge": _each(
        ([1.0, 0.0], [INF, 0.0], NAN), ([1.0, 0.0], [NAN, 0.0], NAN), ([1.0, 0.0], [1.0, 0.0], 0.0)
    ),
    "KLDivergence": _each(
        ([1.0, 0.0], [1.0, 0.0], 0.0),
        ([1.0, 0.0], [0.0, 1.0], WRONG * (1 - 1e-7)),
        ([1.0, 0.0], [INF, 0.0], 0.0),
        ([1.0, 0.0], [NAN, 0.0], NAN),
    ),
    "BinaryFocalCrossentropy": _each(
        ([1.0], [1.0], 0.0), ([1.0], [0.0], WRONG), ([0.0], [1.0], WRONG), ([1.0], [INF], NAN), ([1.0], [NAN], NAN)
    ),
    "CategoricalFocalCrossentropy": _each(
        ([1.0, 0.0], [0.0, 1.0], 0.25 * WRONG * (1 - 1e-7) ** 2),
        ([1.0, 0.0], [INF, 1.0], NAN),
        ([1.0, 0.0], [NAN, 1.0], NAN),
    ),
    "Dice": [
        *_whole(
            ([1.0, 0.0], [1.0, 0.0], 5e-8 / (1 + 5e-8)),
            ([1.0, 0.0], [0.0, 1.0], 1.0),
            ([1.0, 0.0], [INF, 0.0], NAN),
            ([1.0, 0.0], [NAN, 0.0], NAN),
        ),
        LossVector(_none(1), _none(1), 1.0),
    ],
    "Tversky": [
        *_whole(
            ([1.0, 0.0], [1.0, 0.0], 1e-7 / (1 + 1e-7)),
            ([1.0, 0.0], [0.0, 1.0], 1.0),
            ([1.0, 0.0], [INF, 0.0], NAN),
            ([1.0, 0.0], [NAN, 0.0], NAN),
        ),
        LossVector(_none(1), _none(1), 1.0),
    ],
    "CTC": [
        LossVector([[1]], [[[0.0, 0.0]]], [_LN2]),
        LossVector([[1]], [[[0.0, 1000.0]]], [0.0]),
        LossVector([[1]], [[[0.0, NAN]]], [NAN]),
        LossVector([[1]], [[[0.0, INF]]], [NAN]),
        LossVector(("none", 1), ("none", 1, 2), []),
    ],
    "Circle": [
        LossVector([0, 0], [[1.0, 0.0], [1.0, 0.0]], [0.0, 0.0]),
        LossVector([0, 0, 1], [[1.0, 0.0], [NAN, 0.0], [0.0, 1.0]], [NAN, NAN, NAN]),
        # The first is paired as well as can be, and at a right angle to the other class; losses of 0 do not count.
        LossVector([0, 0, 1], [[1.0, 0.0], [INF, 0.0], [0.0, 1.0]], [3 * math.log1p(math.exp(-25.6)), NAN, NAN]),
        LossVector([], ("none", 2), []),
    ],
    "CategoricalGeneralizedCrossEntropy": _classes(
        (0, [1.0, 0.0], 0.0), (0, [0.0, 1.0], 2.0), (0, [INF, 0.0], -INF), (0, [NAN, 0.0], NAN)
    ),
}
