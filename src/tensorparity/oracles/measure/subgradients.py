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

from ...core.arrays import Array
from ...core.jsontext import Json
from ...operators.reference.directional import STEP, Terms, one_sided, scales
from ...operators.reference.rounding import K
from ...operators.spec import Evaluation

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
#: So many times its distance a derivative may change without a kink, as a share of itself.
_CURVED = 64.0

#: Gradients by the place of the array they belong to; None where a target gave none, which means zero.
Gradients = Sequence[Array | None]
#: ``along`` a direction, the ``slope`` that a target gives and what the formula allows, ``low`` to ``high``; without a
#: slope where that is not finite.
Slope = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class SubgradientLimits:
    """How much is asked of a reference that takes its time.

    Args:
        until_wrong: no more than shows that everybody is wrong.
    """

    coordinates: int = MOST_COORDINATES
    ties: int = MOST_TIES
    until_wrong: bool = False


@dataclass(frozen=True)
class SubgradientTest:
    """What the rule says of each target.

    Args:
        errors: per target the largest violation, in units of which K are explained; NaN where nothing was measured.
        kink: in some direction the two one-sided derivatives are not the same.
        outside: per target that left the interval, its slope in the worst direction and what the formula allows there.
        otherwise: somebody is right by another formula, which is right, too.
    """

    errors: Mapping[str, float]
    kink: bool
    outside: Mapping[str, Slope] = field(default_factory=dict)
    otherwise: bool = False

    @property
    def measured(self) -> bool:
        return any(not math.isnan(error) for error in self.errors.values())

    def or_else(self, other: SubgradientTest) -> SubgradientTest:
        """By another formula that is right, too: who is well by either of them is."""
        better = {target for target, error in self.errors.items() if _worse(other.errors[target]) < _worse(error)}
        errors = {t: other.errors[t] if t in better else error for t, error in self.errors.items()}
        slopes = {t: (other if t in better else self).outside.get(t, {}) for t in errors}
        outside = {target: slope for target, slope in slopes.items() if slope}
        otherwise = any(errors[target] <= K < self.errors[target] for target in better)
        return SubgradientTest(errors, self.kink or other.kink, outside, otherwise)


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
    limits: SubgradientLimits | None = None,
) -> SubgradientTest:
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
    limits = limits or (SubgradientLimits() if disputed else SubgradientLimits(_UNDISPUTED, _UNDISPUTED))
    with np.errstate(all="ignore"):
        middle = terms(at)
    if not np.isfinite(middle.value).all():
        return SubgradientTest(dict.fromkeys(gradients, float("nan")), False)
    tally = _SlopeTally(gradients)
    for direction in _directions(at, [*gradients.values(), *beside], rng, limits):
        if limits.until_wrong and tally.all_wrong:
            break
        here = _slopes(terms, at, direction, middle)
        if here is None:
            tally.excuse(direction, _without_limit(terms, at, direction, middle))
            continue
        tally.kink |= here.is_kink()
        said = {target: _violation(given, direction, here, roundoff, tiny) for target, given in gradients.items()}
        if any(error > K for error, _ in said.values()):
            around = here.widened(_nearby(terms, at, direction, roundoff))
            said = {target: _violation(given, direction, around, roundoff, tiny) for target, given in gradients.items()}
            if around.is_kink(2.0 * _NEAR * roundoff):
                tally.kink = True
                if not here.is_kink():  # rounding may have led onto it, where there need not be any number
                    tally.excuse(direction, around.touched)
        tally.add(direction, said, here.touched)
    return tally.result()


class _SlopeTally:
    """The worst that was seen of each target.

    Where a term has no derivative, as the root of 0, what is infinite there makes NaN of whatever it is multiplied by
    on its way back. Who is not finite there is not asked why it is not where the same term, or none, is moved.
    """

    def __init__(self, gradients: Mapping[str, Gradients]) -> None:
        self._gradients = gradients
        self._errors = dict.fromkeys(gradients, float("nan"))
        self._lost: dict[str, list[_Lost]] = {}
        self._excused: dict[str, Array] = {}
        self._outside: dict[str, Slope] = {}
        self.kink = False

    def excuse(self, direction: _Direction, singular: Array) -> None:
        """Whoever is not finite along it.

        Args:
            singular: the terms that have no derivative there, or may have none where rounding leads.
        """
        for target, given in self._gradients.items():
            if direction.single and singular.any() and not math.isfinite(_along(given, direction)[0]):
                self._excused[target] = self._excused.get(target, np.zeros_like(singular)) | singular

    def add(self, direction: _Direction, said: Mapping[str, tuple[float, Slope]], touched: Array) -> None:
        """
        Args:
            touched: the terms that the direction moves.
        """
        for target, (error, slope) in said.items():
            if math.isinf(error):
                self._lost.setdefault(target, []).append(_Lost(touched, direction.single, slope))
            elif not error <= self._errors[target]:
                self._errors[target] = error
                if error > K:
                    self._outside[target] = slope

    @property
    def all_wrong(self) -> bool:
        return len(self._outside) == len(self._errors)

    def result(self) -> SubgradientTest:
        lost = {target: slope for target in self._lost if (slope := self._inexcusable(target))}
        errors = {**self._errors, **dict.fromkeys(lost, float("inf"))}
        return SubgradientTest(errors, self.kink, {**self._outside, **lost})

    def _inexcusable(self, target: str) -> Slope:
        excused = self._excused.get(target)
        return next((lost.slope for lost in self._lost[target] if excused is None or lost.is_apart_from(excused)), {})


@dataclass(frozen=True, slots=True)
class _Lost:
    """A direction along which a gradient is not finite, and the terms it moves; ``single`` moves one number alone."""

    touched: Array
    single: bool
    slope: Slope

    def is_apart_from(self, excused: Array) -> bool:
        """Of several numbers moved together nobody knows which was lost."""
        return self.single and bool(self.touched.any()) and not (self.touched & excused).any()


@dataclass(frozen=True, slots=True)
class _Slopes:
    """What the formula allows along a direction, and how well it is known.

    Args:
        low: per term, the smaller of its derivatives to both sides.
        resolved: there are such derivatives; where the formula jumps within a step, any number may be right.
    """

    low: Array
    high: Array
    size: float
    noise: float
    rounding: float
    resolved: bool = True

    def is_kink(self, apart: float = 0.0) -> bool:
        """The derivatives are not the same, by more than curvature makes of places this share of their size apart."""
        spread = float((self.high - self.low).sum())
        return spread > (_KINK + _CURVED * apart) * self.size + 16.0 * self.noise

    @property
    def touched(self) -> Array:
        """The terms that the direction moves."""
        return np.asarray((self.low != 0.0) | (self.high != 0.0))

    def widened(self, others: Sequence[_Slopes]) -> _Slopes:
        """What is allowed here, or by any of the others."""
        every = (self, *others)
        return _Slopes(
            np.minimum.reduce([slopes.low for slopes in every]),
            np.maximum.reduce([slopes.high for slopes in every]),
            max(slopes.size for slopes in every),
            max(slopes.noise for slopes in every),
            max(slopes.rounding for slopes in every),
            all(slopes.resolved for slopes in every),
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
        upper.resolved and lower.resolved,
    )


def _without_limit(terms: Terms, at: Sequence[Array], direction: _Direction, middle: Evaluation) -> Array:
    """Which terms are no numbers a step to either side; none where there are other terms."""
    found = np.zeros(middle.value.shape, dtype=bool)
    for sign in (STEP, -STEP):
        with np.errstate(all="ignore"):
            value = terms([array + sign * along for array, along in zip(at, direction.along, strict=True)]).value
        if value.shape == found.shape:
            found |= ~np.isfinite(value)
    return found


def _nearby(terms: Terms, at: Sequence[Array], direction: _Direction, roundoff: float) -> list[_Slopes]:
    """What is allowed a little to either side; nothing where there is no other side."""
    found = []
    for side in (_NEAR * roundoff, -_NEAR * roundoff):
        moved = [
            array + side * np.sign(along) * scales(array) for array, along in zip(at, direction.along, strict=True)
        ]
        with np.errstate(all="ignore"):
            middle = terms(moved)
        slopes = _slopes(terms, moved, direction, middle) if np.isfinite(middle.value).all() else None
        if slopes is not None:
            found.append(slopes)
    return found


def _violation(
    given: Gradients, direction: _Direction, slopes: _Slopes, roundoff: float, tiny: float
) -> tuple[float, Slope]:
    total, size = _along(given, direction)
    if not math.isfinite(total):
        return float("inf"), {"along": direction.name}
    if not slopes.resolved:
        return 0.0, {}
    low, high = float(slopes.low.sum()), float(slopes.high.sum())
    beyond = max(low - total, total - high, 0.0)
    size += slopes.size + slopes.rounding
    moved = float(sum(np.abs(along).sum() for along in direction.along))
    explained = _EXPLAINED * (roundoff * size + tiny * moved) + slopes.noise + 1e-300
    said = {"along": direction.name, "slope": total, "low": low, "high": high}
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
    at: Sequence[Array], gradients: Sequence[Gradients], rng: np.random.Generator, limits: SubgradientLimits
) -> Iterator[_Direction]:
    sizes = [scales(array) for array in at]
    spreads = [_disputed_by(place, array, gradients) for place, array in enumerate(at)]
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


def _disputed_by(place: int, array: Array, gradients: Sequence[Gradients]) -> Array:
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
