"""Populations: many chromosomes in one case, each made of two parents and noise, the same numbers everywhere.

The weights of a population are made inside the worker: sending every individual's would take longer than running it.
So an individual is named by its parents and a seed, and what that stands for is fixed here. ``worker/population.py``
does the same for a worker, which imports nothing of ours; a test holds the two together. All numbers come from
NumPy's ``RandomState``, whose stream is frozen: every NumPy gives the same.

Noise is read from one table of Cauchy numbers, from a place that the individual's seed names: a fresh draw for every
gene of every individual would take longer than most networks do.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from . import fields
from .arrays import Array, Arrays
from .jsontext import Json

#: Numbers of a table. More genes than that meet the same noise again, in another place.
TABLE_SIZE = 1 << 21


@dataclass(frozen=True, slots=True)
class GeneRange:
    """How the genes of one array change.

    Args:
        scale: of the Cauchy noise; of inputs also one for each column, as the bounds.
        low: no gene falls below it; None for no bound. ``high`` likewise.
        reach: no gene goes further than this from what it is in the case itself; None for no bound.
    """

    scale: float | Array
    low: float | Array | None = None
    high: float | Array | None = None
    reach: float | None = None

    def to_json(self) -> Json:
        """Of weights, whose individuals are made in a worker; they have no columns."""
        return [self.scale, self.low, self.high, self.reach]

    @classmethod
    def from_json(cls, data: Json) -> GeneRange:
        scale, *bounds = fields.item(data, list, "a range of genes")
        low, high, reach = (None if bound is None else float(bound) for bound in bounds)
        return cls(float(scale), low, high, reach)

    def within(self, genes: Array, base: Array) -> Array:
        """The genes, none of them out of bounds."""
        if self.reach is not None:
            genes = np.clip(genes, base - np.float32(self.reach), base + np.float32(self.reach))
        if self.low is not None:
            genes = np.maximum(genes, np.float32(self.low))
        return genes if self.high is None else np.minimum(genes, np.float32(self.high))


@dataclass(frozen=True, slots=True)
class Individual:
    """A chromosome of two parents, each gene from the first with the crossover rate, and noise.

    Args:
        first: place of a parent among the parents; ``second`` likewise.
        seed: of its crossover and noise; None for the first parent as it is.
    """

    first: int = 0
    second: int = 0
    seed: int | None = None

    def to_json(self) -> Json:
        return [self.first, self.second, self.seed]

    @classmethod
    def from_json(cls, data: Json) -> Individual:
        first, second, seed = fields.item(data, list, "an individual")
        return cls(int(first), int(second), None if seed is None else int(seed))


@dataclass(frozen=True, slots=True)
class Population:
    """Chromosomes of a search that are made of the same parents.

    Args:
        table: the seed of the table that all noise is read from.
        crossover: the share of the genes that come from the first parent (r1).
        ranges: by array, how its genes change; arrays without one are nobody's genes.
    """

    table: int
    crossover: float
    ranges: Mapping[str, GeneRange] = field(default_factory=dict)
    individuals: tuple[Individual, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranges", MappingProxyType(dict(self.ranges)))

    def __len__(self) -> int:
        return len(self.individuals)

    def to_json(self) -> Json:
        return {
            "table": self.table,
            "crossover": self.crossover,
            "ranges": {name: own.to_json() for name, own in self.ranges.items()},
            "individuals": [one.to_json() for one in self.individuals],
        }

    @classmethod
    def from_json(cls, data: Json) -> Population:
        ranges = fields.field(data, "ranges", dict)
        individuals = fields.field(data, "individuals", list)
        return cls(
            fields.field(data, "table", int),
            float(data["crossover"]),
            {name: GeneRange.from_json(own) for name, own in ranges.items()},
            tuple(Individual.from_json(one) for one in individuals),
        )

    def chromosome(self, parents: Arrays, place: int, base: Arrays) -> dict[str, Array]:
        """The genes of one individual, by array.

        Args:
            parents: stacked, one row per parent.
            base: what the genes are in the case itself.
        """
        one = self.individuals[place]
        if one.seed is None:
            return {name: np.array(parents[name][one.first]) for name in sorted(self.ranges)}
        stream = np.random.RandomState(one.seed)  # noqa: NPY002 (the stream that never changes)
        chosen, moved = (int(stream.randint(0, TABLE_SIZE)) for _ in range(2))
        found: dict[str, Array] = {}
        for name in sorted(self.ranges):
            first, second = parents[name][one.first], parents[name][one.second]
            child = self._child(name, first, second, chosen, moved)
            found[name] = self.ranges[name].within(child, base[name]).astype(first.dtype)
            chosen, moved = chosen + first.size, moved + first.size
        return found

    def _child(self, name: str, first: Array, second: Array, chosen: int, moved: int) -> Array:
        choice, noise = tables(self.table)
        kept = _window(choice, chosen, first.size).reshape(first.shape) < np.float32(self.crossover)
        child = _crossed(first, second, kept)
        return child + np.float32(self.ranges[name].scale) * _window(noise, moved, first.size).reshape(first.shape)


def _crossed(first: Array, second: Array, kept: Array) -> Array:
    """Genes of the first where they are kept, else of the second.

    Bit by bit: a choice for each number by itself is guessed wrongly half the time, and takes four times as long.
    """
    if first.dtype != np.float32:
        return np.where(kept, first, second)
    one, other = (np.ascontiguousarray(array).view(np.int32) for array in (first, second))
    mask = np.negative(kept.view(np.int8), dtype=np.int32)
    found: Array = (other ^ ((one ^ other) & mask)).view(np.float32)
    return found


@functools.lru_cache(maxsize=2)
def tables(seed: int) -> tuple[Array, Array]:
    """Uniform and Cauchy numbers of a seed, in float32."""
    stream = np.random.RandomState(seed)  # noqa: NPY002 (the stream that never changes)
    uniform = stream.random_sample(TABLE_SIZE).astype(np.float32)
    return uniform, stream.standard_cauchy(TABLE_SIZE).astype(np.float32)


def _window(table: Array, start: int, size: int) -> Array:
    """So many numbers of a table from a place on, which begins again at its end."""
    start %= TABLE_SIZE
    if start + size <= TABLE_SIZE:
        return table[start : start + size]
    parts, left = [table[start:]], size - (TABLE_SIZE - start)
    while left > 0:
        parts.append(table[:left])
        left -= TABLE_SIZE
    return np.concatenate(parts)
