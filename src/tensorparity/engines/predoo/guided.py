"""The search of our own: many sources of inputs, and descendants of those that did worst.

Half of a round are neighbours of the inputs with the largest errors so far, per target, so that one bad library does
not draw all attention; where the error of an input sits in one element, its neighbours look around that element. A
sixth are the paper's standard normal, because a function that is tame everywhere errs most on ordinary numbers; the
rest are drawn from all sources, more from those that did well. Where there are several operands, half of the rows have
operands of one size: what matters is often how they compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...core import portable
from ...core.arrays import Array
from ...core.jsontext import Json
from ...generators.inputs.operators import SOURCES, SUMS, Range, draw, edge, fit_to_operand
from ...operators.functions.spec import Operator, Sizes
from .batch import InputBatch, shared_arrays

#: The sources that a guided search mixes, in the order they are tried first.
MIXED = ("normal", "critical", "moderate", "exponents", "overflow", "cancellation", "wide", "special")
_KEPT = 6  # worst inputs per target


@dataclass(order=True)
class _Elite:
    error: float
    order: int
    row: dict[str, Array] = field(compare=False)
    place: int = field(compare=False)


class GuidedSearch:
    """Ask for a batch of inputs, tell the error of every input per target.

    Args:
        source: one source alone instead of the mixture: no guidance.
        credit: what each source has earned, learned from and added to: searches of one operator share it.
    """

    def __init__(
        self,
        operator: Operator,
        dtype: str,
        shape: Sizes,
        params: Mapping[str, Json],
        rng: np.random.Generator,
        *,
        source: str | None = None,
        credit: dict[str, float] | None = None,
    ) -> None:
        self._operator, self._dtype, self._rng = operator, dtype, rng
        self._params = dict(params)
        self._sizes = operator.sizes(params, shape)
        self._only = source
        self._shared = dict(shared_arrays(operator, self._sizes, rng, dtype))
        self._elites: dict[str, list[_Elite]] = {}
        self._credit = credit if credit is not None else {}
        for name in MIXED:
            self._credit.setdefault(name, 1.0)
        self._origin: list[str] = []
        self._asked: dict[str, Array] = {}
        self._order = 0
        self.best = 0.0

    def ask(self, count: int) -> InputBatch:
        """The next inputs."""
        origins = self._origins(count)
        parts = [self._drawn(name, origins.count(name)) for name in dict.fromkeys(origins)]
        self._origin = [name for name in dict.fromkeys(origins) for _ in range(origins.count(name))]
        self._asked = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        arrays = {operand.name: {**self._asked, **self._shared}[operand.name] for operand in self._operator.operands}
        return InputBatch(self._params, arrays, tuple(range(count)))

    def tell(self, errors: Mapping[str, Array], places: Mapping[str, Array]) -> None:
        """The error of every input on every target, and the flat position of its worst element."""
        for target, values in errors.items():
            values = np.nan_to_num(values, nan=0.0, posinf=1e30)
            self.best = max(self.best, float(values.max(initial=0.0)))
            self._reward(values)
            self._keep(target, values, places[target])

    def _origins(self, count: int) -> list[str]:
        if self._only is not None:
            return [self._only] * count
        inherited = count // 2 if self._elites else 0
        ordinary = (count - inherited) // 3
        names = list(self._credit)
        shares = np.array([self._credit[name] for name in names])
        drawn = self._rng.choice(len(names), size=count - inherited - ordinary, p=shares / shares.sum())
        return [MIXED[0]] * ordinary + ["neighbours"] * inherited + [names[index] for index in drawn]

    def _drawn(self, name: str, count: int) -> dict[str, Array]:
        if name == "neighbours":
            return self._neighbours(count)
        if name == "overflow" and self._operator.name in SUMS:
            return self._at_the_edge(count)
        middle = self._operator.accumulates
        found = {
            operand.name: draw(
                name, self._rng, (count, *self._sizes[operand.name]), operand, self._dtype, middle=middle
            )
            for operand in self._operator.operands
            if operand.stacked
        }
        return found if self._only is not None or name == MIXED[0] else self._related(found)

    def _at_the_edge(self, count: int) -> dict[str, Array]:
        """Of what is added up as it is, numbers up to the edge of the range; their squares are nobody's concern."""
        (operand,) = self._operator.operands
        drawn = edge(self._rng, (count, *self._sizes[operand.name]), operand, self._dtype)
        return {operand.name: fit_to_operand(drawn, operand, self._dtype)}

    def _related(self, drawn: dict[str, Array]) -> dict[str, Array]:
        """In half of the rows the other operands are of the first one's size, some of them very near to it."""
        first = next(iter(drawn.values()))
        shape = (len(first), *(1,) * (first.ndim - 1))
        for operand in self._operator.operands:
            other = drawn.get(operand.name)
            if other is None or other is first or other.shape != first.shape:
                continue
            near = 1 + self._rng.choice([-1.0, 1.0], first.shape) * portable.exp2(
                self._rng.uniform(-20, 0, first.shape)
            )
            apart = self._rng.choice([-1.0, 1.0], first.shape) * portable.exp2(
                self._rng.standard_normal(first.shape) * 2
            )
            with np.errstate(over="ignore"):
                moved = first * np.where(self._rng.random(shape) < 0.3, near, apart)
            moved = fit_to_operand(moved, operand, self._dtype, middle=self._operator.accumulates)
            drawn[operand.name] = np.where(self._rng.random(shape) < 0.5, moved, other)
        return drawn

    def _reward(self, values: Array) -> None:
        """A source earns by the largest error that it found, on a logarithmic scale; what it earned fades.

        Squared, so that in a tame function, where good places are a little better than others, they still show.
        """
        scale = np.log1p(max(self.best, 1e-300))
        for name in self._credit:
            found = [value for value, origin in zip(values.tolist(), self._origin, strict=True) if origin == name]
            if found and scale > 0:
                share = float(np.log1p(max(found))) / scale
                self._credit[name] = 0.5 * self._credit[name] + 0.5 * (0.05 + share * share)

    def _keep(self, target: str, values: Array, places: Array) -> None:
        kept = self._elites.setdefault(target, [])
        for index in np.argsort(-values, kind="stable")[:_KEPT].tolist():
            if values[index] <= 0:
                break
            self._order += 1
            row = {name: array[index].copy() for name, array in self._asked.items()}
            kept.append(_Elite(float(values[index]), -self._order, row, int(places[index])))
        kept.sort(reverse=True)
        del kept[_KEPT:]
        if not kept:
            del self._elites[target]

    def _neighbours(self, count: int) -> dict[str, Array]:
        pool = [elite for kept in self._elites.values() for elite in kept]
        parents = [pool[index] for index in self._rng.integers(len(pool), size=count)]
        found: dict[str, Array] = {}
        ways = self._rng.integers(4, size=count)
        factors = portable.exp2(self._rng.uniform(-1, 1, count))  # one for all operands: their ratio stays
        for operand in self._operator.operands:
            if operand.stacked:
                rows = np.stack([parent.row[operand.name] for parent in parents])
                with np.errstate(over="ignore"):  # what leaves the range stays where it was
                    moved = self._moved(rows, parents, ways, factors)
                found[operand.name] = fit_to_operand(moved, operand, self._dtype, middle=self._operator.accumulates)
        return found

    def _moved(self, rows: Array, parents: list[_Elite], ways: Array, factors: Array) -> Array:
        """Each row in one of four ways: a few ulps, a factor, around its worst element, or halved towards zero."""
        rng, digits = self._rng, Range.of(self._dtype).digits
        shape = (len(rows), *(1,) * (rows.ndim - 1))
        way = ways.reshape(shape)
        ulps = rows * (1 + rng.integers(-8, 9, rows.shape) * 2.0**-digits)
        factor = rows * factors.reshape(shape) * (1 + rng.standard_normal(rows.shape) * 0.01)
        flat = rows.reshape(len(rows), -1)
        at = np.array([parent.place % flat.shape[1] for parent in parents])
        worst = flat[np.arange(len(rows)), at].reshape(shape)
        spread = portable.exp2(rng.uniform(-digits, 0.5, rows.shape))
        around = worst * (1 + rng.choice([-1.0, 1.0], rows.shape) * spread)
        some = np.where(rng.random(rows.shape) < 0.2, rows * rng.choice([0.5, 2.0, -1.0, 1.5], rows.shape), rows)
        moved = np.where(way == 0, ulps, np.where(way == 1, factor, np.where(way == 2, around, some)))
        return np.where(np.isfinite(moved), moved, rows)


__all__ = ["MIXED", "SOURCES", "GuidedSearch"]
