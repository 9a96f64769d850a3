"""Algorithm 1 of Audee, without anything that runs: who survives, who is crossed with whom, and how children move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .arrays import Array, Arrays
from .errors import UsageError
from .population import GeneRange, Individual, Population

GENETIC, RANDOM = "genetic", "random"
#: What selection draws from, beside the seed.
_SELECTION = 0xA1
_MOST_SEEDS = 2**31 - 1


@dataclass(frozen=True)
class SearchSettings:
    """The constants of Algorithm 1; the paper names them and gives no values.

    Args:
        size: of the population (n).
        parents: how many survive (m).
        crossover: the share of genes of the first parent (r1).
        mutation: the probability that a child is moved, and so joins (r2).
        scale: of the Cauchy noise, in standard deviations of the array that it moves: of the parents', so that it grows
            with what has been found. Noise of one size would add up to no more than its largest outlier, which random
            noise has as well.
        strategy: ``genetic``, or ``random`` noise of the same scale that nothing is selected from.
    """

    size: int = 64
    parents: int = 8
    crossover: float = 0.5
    mutation: float = 0.9
    scale: float = 0.1
    strategy: str = GENETIC

    def __post_init__(self) -> None:
        if not 1 <= self.parents < self.size:
            raise UsageError(f"a search has more individuals than parents; got {self.size} and {self.parents}")
        if not (0.0 <= self.crossover <= 1.0 and 0.0 < self.mutation <= 1.0 and self.scale > 0.0):
            raise UsageError("rates of a search are shares, and its noise has a positive scale")
        if self.strategy not in (GENETIC, RANDOM):
            raise UsageError(f"unknown strategy {self.strategy!r}; known are {GENETIC} and {RANDOM}")


class Genes:
    """Arrays that a search moves: where it starts, how far they may go, and those of the parents.

    Args:
        table: the seed of the table of their noise.
    """

    def __init__(self, base: Arrays, ranges: Mapping[str, GeneRange], table: int, crossover: float) -> None:
        self.base = dict(base)
        self._population = Population(table, crossover, ranges)
        #: By array, the scale of its noise in standard deviations.
        self._scales = {name: own.scale / spread(self.base[name]) for name, own in ranges.items()}
        self.parents: dict[str, Array] = {name: array[None] for name, array in self.base.items()}

    def population(self, individuals: tuple[Individual, ...]) -> Population:
        return replace(self._population, individuals=individuals)

    def of(self, individual: Individual) -> dict[str, Array]:
        return self.population((individual,)).chromosome(self.parents, 0, self.base)

    def parent(self, place: int) -> dict[str, Array]:
        return {name: array[place] for name, array in self.parents.items()}

    def keep(self, chosen: Sequence[Mapping[str, Array]]) -> None:
        """Make these the parents of the next generation; noise is measured by them from now on."""
        self.parents = {name: np.stack([genes[name] for genes in chosen]) for name in self.base}
        ranges = {name: self._measured(name, own) for name, own in self._population.ranges.items()}
        self._population = replace(self._population, ranges=ranges)

    def _measured(self, name: str, own: GeneRange) -> GeneRange:
        with np.errstate(all="ignore"):
            scale = self._scales[name] * spread(self.parents[name])
        return replace(own, scale=scale) if np.isfinite(np.asarray(scale, np.float32)).all() else own


class Evolution:
    """The generations of a search over some groups of genes that are crossed and moved together.

    Those that survive keep the fitness that they have: nobody is run twice.
    """

    def __init__(self, groups: Sequence[Genes], settings: SearchSettings, seed: int) -> None:
        self.groups, self.settings = tuple(groups), settings
        self._stream = np.random.RandomState([seed, _SELECTION])  # noqa: NPY002 (the stream that never changes)
        self._known: list[float] = []
        self.children: tuple[Individual, ...] = ()
        self.generation = 0
        self.evaluations = 0
        self.best = -math.inf
        #: The best fitness after every generation, and how many evaluations had been made by then.
        self.curve: list[float] = []
        self.evaluated: list[int] = []

    def breed(self) -> tuple[Individual, ...]:
        """The children of the next generation, as many as the population lacks."""
        self.children = tuple(self._child() for _ in range(self.settings.size - len(self._known)))
        return self.children

    def _child(self) -> Individual:
        """Two parents uniformly; a child that is not moved does not join, and another one is made."""
        count = max(1, len(self._known))
        while True:
            first, second = (int(self._stream.randint(0, count)) for _ in range(2))
            if not self._known or self._stream.random_sample() < self.settings.mutation:
                return Individual(first, second, int(self._stream.randint(0, _MOST_SEEDS)))

    def genes(self, group: int, place: int) -> dict[str, Array]:
        """Those of one of the children."""
        return self.groups[group].of(self.children[place])

    def tell(self, fitness: Sequence[float]) -> None:
        """The fitness of every child, in order; what is not a number ranks first."""
        own = [math.inf if math.isnan(value) else float(value) for value in fitness]
        self.generation += 1
        self.evaluations += len(own)
        self.best = max([self.best, *own])
        self.curve.append(self.best)
        self.evaluated.append(self.evaluations)
        if self.settings.strategy == GENETIC:
            self._select(own)

    def _select(self, own: Sequence[float]) -> None:
        """The best m of those who survived before and their children; the older one first where they are equal."""
        everybody = [*self._known, *own]
        order = sorted(range(len(everybody)), key=lambda place: -everybody[place])[: self.settings.parents]
        for group in self.groups:
            group.keep([self._genes_of(group, place) for place in order])
        self._known = [everybody[place] for place in order]

    def _genes_of(self, group: Genes, place: int) -> dict[str, Array]:
        known = len(self._known)
        return group.parent(place) if place < known else group.of(self.children[place - known])


def spread(array: Array) -> float:
    """How far the numbers of an array lie apart; of equal ones, how large they are; one where that is nothing."""
    wide = np.asarray(array, np.float64)
    return float(wide.std()) or float(np.abs(wide).max(initial=0.0)) or 1.0
