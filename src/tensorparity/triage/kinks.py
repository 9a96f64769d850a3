"""Gradients where a function has a kink or a tie: which of them are right?

At a kink a library may answer with any element of the subdifferential (ReLU at 0: anything from 0 to 1; a maximum
reached twice: any split of the gradient). The rule: for a direction d, g.d must lie between -f'(x; -d) and f'(x; d) of
the reference. It is asked for coordinates, for all members of a tie moved together, and for random directions.
Inside of all: the difference is a freedom that every library has. Outside of one: no choice explains it. At a smooth
point both ends are the same, so the rule is a reference of the gradient there.

Each output has a choice of its own, and cotangents have signs, so the interval is taken output by output and summed:
of two ReLUs at 0 that are pulled back with +1 and -1, either may answer 1.

A kink is where the formula has it only up to rounding: ``clip(p, e, 1 - e)`` of float32 ends at a number of float32. So
whoever leaves the interval is held against those of the places a roundoff to either side as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.arrays import Array
from ..operators.directional import Terms, one_sided, scales
from ..operators.rounding import K
from ..operators.spec import Evaluation

#: The random directions of the rule.
RANDOM_DIRECTIONS = 8
#: Coordinates and ties are asked where the targets disagree most, and no more than this: each costs four evaluations.
MOST_COORDINATES = 48
MOST_TIES = 24
#: ... and of each where they agree, and all of them may be wrong.
_UNDISPUTED = 6

#: Gradients are sums of products; so many roundoffs of the size of their terms are explained.
_EXPLAINED = 64.0
#: One-sided derivatives further apart than this share of their size are a kink; curvature has been taken out.
_KINK = 1e-4
#: So many roundoffs to either side a kink may be.
_NEAR = 2.0

#: Gradients by the place of the array they belong to; None where a target gave none, which means zero.
Gradients = Sequence[Array | None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is asked of a reference that takes its time.

    Args:
        until_wrong: no more than shows that everybody is wrong.
    """

    coordinates: int = MOST_COORDINATES
    ties: int = MOST_TIES
    until_wrong: bool = False


@dataclass(frozen=True)
class KinkTest:
    """What the rule says of each target.

    Args:
        errors: per target the largest violation, in units of which K are explained; NaN where nothing was measured.
        kink: in some direction the two one-sided derivatives are not the same.
        outside: per target that left the interval, the worst direction in words.
    """

    errors: Mapping[str, float]
    kink: bool
    outside: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        return any(not math.isnan(error) for error in self.errors.values())

    def or_else(self, other: KinkTest) -> KinkTest:
        """By another formula that is right, too: who is well by either of them is; what they part at is a kink."""
        errors = {target: min(error, other.errors[target], key=_worse) for target, error in self.errors.items()}
        outside = {target: words for target, words in self.outside.items() if errors[target] > K}
        return KinkTest(errors, self.kink or other.kink or errors != self.errors, outside)


def _worse(error: float) -> float:
    return math.inf if math.isnan(error) else error


@dataclass(frozen=True, slots=True)
class _Direction:
    """Where to, one array per argument, and how a reader would call it; ``single`` is one number alone."""

    along: tuple[Array, ...]
    name: str
    single: bool = False


def examine_gradients(
    terms: Terms,
    at: Sequence[Array],
    gradients: Mapping[str, Gradients],
    roundoff: float,
    rng: np.random.Generator,
    *,
    disputed: bool = True,
    tiny: float = 0.0,
    beside: Sequence[Gradients] = (),
    limits: Limits | None = None,
) -> KinkTest:
    """Hold every target's gradients against the one-sided derivatives of the reference.

    Args:
        terms: the reference: what is summed up to the function that was differentiated.
        at: the arrays it is differentiated by, in float64.
        gradients: per target, one per array of ``at``.
        roundoff: unit roundoff of the dtype in which the targets computed.
        disputed: the targets differ; where they do not, fewer directions are asked.
        tiny: what underflow may do to each number of a gradient.
        beside: gradients that are not judged: where they differ from those that are is looked at first.
        limits: how much is asked; by default as much as is worth it.
    """
    limits = limits or (Limits() if disputed else Limits(_UNDISPUTED, _UNDISPUTED))
    with np.errstate(all="ignore"):
        middle = terms(at)
    if not np.isfinite(middle.value).all():
        return KinkTest(dict.fromkeys(gradients, float("nan")), False)
    tally = _Tally(gradients)
    for direction in _directions(at, [*gradients.values(), *beside], rng, limits):
        if limits.until_wrong and tally.all_wrong:
            break
        here = _slopes(terms, at, direction, middle)
        if here is None:
            tally.cannot_say(direction)
            continue
        tally.kink |= here.kink
        said = {target: _violation(given, direction, here, roundoff, tiny) for target, given in gradients.items()}
        if any(error > K for error, _ in said.values()):
            around = here.widened(_nearby(terms, at, direction, roundoff))
            said = {target: _violation(given, direction, around, roundoff, tiny) for target, given in gradients.items()}
            tally.kink |= around.kink
        tally.add(said)
    return tally.result()


class _Tally:
    """The worst that was seen of each target.

    Where a formula has no derivative, as the root of 0, what is infinite there makes NaN of whatever it is multiplied
    by on its way back. Who is not finite there is not asked about other places where it is not.
    """

    def __init__(self, gradients: Mapping[str, Gradients]) -> None:
        self._gradients = gradients
        self._errors = dict.fromkeys(gradients, float("nan"))
        self._lost: dict[str, str] = {}
        self._excused: set[str] = set()
        self._outside: dict[str, str] = {}
        self.kink = False

    def cannot_say(self, direction: _Direction) -> None:
        for target, given in self._gradients.items():
            if direction.single and not math.isfinite(_along(given, direction)[0]):
                self._excused.add(target)

    def add(self, said: Mapping[str, tuple[float, str]]) -> None:
        for target, (error, words) in said.items():
            if math.isinf(error):
                self._lost.setdefault(target, words)
            elif not error <= self._errors[target]:
                self._errors[target] = error
                if error > K:
                    self._outside[target] = words

    @property
    def all_wrong(self) -> bool:
        return len(self._outside) == len(self._errors)

    def result(self) -> KinkTest:
        lost = {target: words for target, words in self._lost.items() if target not in self._excused}
        errors = {**self._errors, **dict.fromkeys(lost, float("inf"))}
        return KinkTest(errors, self.kink, {**self._outside, **lost})


@dataclass(frozen=True, slots=True)
class _Slopes:
    """What the formula allows along a direction, and how well it is known.

    Args:
        low: per term, the smaller of its derivatives to both sides.
    """

    low: Array
    high: Array
    size: float
    noise: float
    rounding: float

    @property
    def kink(self) -> bool:
        return float((self.high - self.low).sum()) > _KINK * self.size + 16.0 * self.noise

    def widened(self, others: Sequence[_Slopes]) -> _Slopes:
        """What is allowed here, or by any of the others."""
        every = (self, *others)
        return _Slopes(
            np.minimum.reduce([slopes.low for slopes in every]),
            np.maximum.reduce([slopes.high for slopes in every]),
            max(slopes.size for slopes in every),
            max(slopes.noise for slopes in every),
            max(slopes.rounding for slopes in every),
        )


def _slopes(terms: Terms, at: Sequence[Array], direction: _Direction, middle: Evaluation) -> _Slopes | None:
    back = tuple(-along for along in direction.along)
    upper, lower = one_sided(terms, at, direction.along, middle), one_sided(terms, at, back, middle)
    if upper is None or lower is None:
        return None
    return _Slopes(
        np.minimum(upper.values, -lower.values),
        np.maximum(upper.values, -lower.values),
        max(upper.size, lower.size),
        upper.noise + lower.noise,
        max(upper.rounding, lower.rounding),
    )


def _nearby(terms: Terms, at: Sequence[Array], direction: _Direction, roundoff: float) -> list[_Slopes]:
    """What is allowed a little to either side; nothing where there is no other side."""
    found = []
    for sign in (1.0, -1.0):
        moved = [
            array + sign * _NEAR * roundoff * np.where(along != 0.0, scales(array), 0.0)
            for array, along in zip(at, direction.along, strict=True)
        ]
        with np.errstate(all="ignore"):
            middle = terms(moved)
        slopes = _slopes(terms, moved, direction, middle) if np.isfinite(middle.value).all() else None
        if slopes is not None:
            found.append(slopes)
    return found


def _violation(
    given: Gradients, direction: _Direction, slopes: _Slopes, roundoff: float, tiny: float
) -> tuple[float, str]:
    total, size = _along(given, direction)
    if not math.isfinite(total):
        return float("inf"), f"its gradient is not finite along {direction.name}"
    low, high = float(slopes.low.sum()), float(slopes.high.sum())
    beyond = max(low - total, total - high, 0.0)
    size += slopes.size + slopes.rounding
    moved = float(sum(np.abs(along).sum() for along in direction.along))
    explained = _EXPLAINED * (roundoff * size + tiny * moved) + slopes.noise + 1e-300
    said = f"{total:.4g} along {direction.name}, where the formula allows {low:.4g} to {high:.4g}"
    return K * beyond / explained if beyond > explained else 0.0, said


def _along(given: Gradients, direction: _Direction) -> tuple[float, float]:
    """The gradient along a direction, and the size of its terms; a NaN elsewhere is not multiplied by 0."""
    with np.errstate(all="ignore"):
        terms = [
            gradient.astype(np.float64)[along != 0.0] * along[along != 0.0]
            for gradient, along in zip(given, direction.along, strict=True)
            if gradient is not None
        ]
        return float(sum(term.sum() for term in terms)), float(sum(np.abs(term).sum() for term in terms))


def _directions(
    at: Sequence[Array], gradients: Sequence[Gradients], rng: np.random.Generator, limits: Limits
) -> Iterator[_Direction]:
    sizes = [scales(array) for array in at]
    spreads = [_disputed(place, array, gradients) for place, array in enumerate(at)]
    for place, index in _coordinates(spreads, limits.coordinates):
        along = [np.zeros_like(size) for size in sizes]
        along[place][index] = sizes[place][index]
        yield _Direction(tuple(along), f"coordinate {', '.join(map(str, index))} of argument {place}", single=True)
    for place, members in _ties(at, spreads, limits.ties):
        along = [np.zeros_like(size) for size in sizes]
        along[place][members] = sizes[place][members]
        count = int(members.sum())
        yield _Direction(tuple(along), f"the {count} equal numbers of argument {place} moved together")
    for number in range(RANDOM_DIRECTIONS):
        drawn = tuple(np.asarray(rng.uniform(-1.0, 1.0, size.shape)) * size for size in sizes)
        yield _Direction(drawn, f"random direction {number}")


def _disputed(place: int, array: Array, gradients: Sequence[Gradients]) -> Array:
    """By how much the targets differ, elementwise."""
    answers = [
        np.zeros(array.shape) if given[place] is None else np.asarray(given[place], dtype=np.float64)
        for given in gradients
    ]
    if not answers:
        return np.zeros(array.shape)
    stacked = np.stack(answers)
    with np.errstate(all="ignore"):
        spread: Array = np.nan_to_num(stacked.max(axis=0) - stacked.min(axis=0), nan=np.inf)
    return spread


def _coordinates(disputed: Sequence[Array], most: int) -> list[tuple[int, tuple[int, ...]]]:
    """The most disputed first; of equals, in the order of the arrays."""
    found = [
        (-float(spread), place, index)
        for place, array in enumerate(disputed)
        for index, spread in np.ndenumerate(array)
    ]
    return [(place, index) for _, place, index in sorted(found)[:most]]


def _ties(at: Sequence[Array], disputed: Sequence[Array], most: int) -> list[tuple[int, Array]]:
    """Sets of equal numbers within one array, as masks; those with the largest dispute first."""
    found: list[tuple[float, int, float]] = []
    for place, array in enumerate(at):
        values, counts = np.unique(array, return_counts=True)
        for value in values[counts > 1]:
            found.append((-float(disputed[place][array == value].max()), place, float(value)))
    return [(place, at[place] == value) for _, place, value in sorted(found)[:most]]
