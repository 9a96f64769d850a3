"""A search of one model: chromosomes of inputs, weights or both (``core/evolution`` says who survives).

A generation is one case: the individuals are its rows, their weights are made in the worker (``core/population``).
A search only proposes; whoever runs the case tells it the fitness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.errors import UsageError
from ...core.evolution import GENETIC, RANDOM, Evolution, Genes, SearchSettings, spread
from ...core.graph import LayerGraph
from ...core.population import GeneRange
from ...core.procedure import Procedure
from .exposed import ExposedModel, movable_inputs

__all__ = ["BOTH", "GENETIC", "INPUT", "LEVELS", "RANDOM", "WEIGHT", "Bounds", "Limits", "NothingToMove", "Search"]
__all__ += ["SearchSettings"]

#: The least and the greatest value of an array, or of each of its columns.
Limits = tuple[float | Array, float | Array]

INPUT, WEIGHT, BOTH = "input", "weight", "input+weight"
LEVELS = (INPUT, WEIGHT, BOTH)
#: The standard deviation of numbers that are spread evenly over a range of one.
_OF_UNIFORM = 12**-0.5
#: The tables of noise of inputs and of weights; one each for all searches, for they take a second to draw.
_INPUT_TABLE, _WEIGHT_TABLE = 1, 2


class NothingToMove(UsageError):
    """A model without genes on the level that is searched."""


@dataclass(frozen=True)
class Bounds:
    """What genes may be: by name, the least and the greatest value.

    Args:
        reach: how far a weight may go from what it is, in standard deviations of its array; None for any way.
    """

    inputs: Mapping[str, Limits] = field(default_factory=dict)
    weights: Mapping[str, Limits] = field(default_factory=dict)
    reach: float | None = None


class Search:
    """One run of Algorithm 1 on one model, from one input.

    Args:
        inputs: one row of each input.
        level: which arrays are genes.

    Raises:
        UsageError: for an unknown level.
        NothingToMove: where there is nothing to move.
    """

    def __init__(
        self,
        model: ExposedModel,
        inputs: Arrays,
        level: str,
        settings: SearchSettings,
        seed: int,
        bounds: Bounds | None = None,
    ) -> None:
        if level not in LEVELS:
            raise UsageError(f"unknown level {level!r}; known are {', '.join(LEVELS)}")
        self.model, self.level, self.settings = model, level, settings
        bounds, scale = bounds or Bounds(), settings.scale
        self._inputs = {name: np.asarray(array[:1]) for name, array in inputs.items()}
        moved = movable_inputs(model.graph, inputs) if level != WEIGHT else ()
        own = {name: self._inputs[name][0] for name in moved}
        floats = {name: array for name, array in model.weights.items() if array.dtype == np.float32}
        weights = floats if level != INPUT else {}
        if (level != WEIGHT and not own) or (level != INPUT and not weights):
            raise NothingToMove(f"{_name(model)} has nothing to search on the level {level!r}")
        self._moved = Genes(own, _ranges(own, scale, bounds.inputs, None), _INPUT_TABLE, settings.crossover)
        self._weights = Genes(
            weights, _ranges(weights, scale, bounds.weights, bounds.reach), _WEIGHT_TABLE, settings.crossover
        )
        self.evolution = Evolution([self._moved, self._weights], settings, seed)

    def next_case(self) -> Case:
        """The next generation: those of it whose fitness is not known."""
        children = self.evolution.breed()
        inputs, graph, weights = self._stacked_inputs(), self.model.graph, self.model.weights
        if not self._weights.base:
            return Case(graph, Procedure(batch_size=self.model.batch_size or len(children)), inputs, weights=weights)
        procedure = Procedure(population=self._weights.population(children))
        return Case(graph, procedure, inputs, weights=weights, parents=self._weights.parents)

    def _stacked_inputs(self) -> dict[str, Array]:
        """One row for every child; one for all of them where only weights are moved."""
        if not self._moved.base:
            return dict(self._inputs)
        count = len(self.evolution.children)
        rows = [self.evolution.genes(0, place) for place in range(count)]
        return {
            name: np.stack([row[name] for row in rows]) if name in self._moved.base else np.repeat(array, count, axis=0)
            for name, array in self._inputs.items()
        }

    def individual(self, place: int) -> Case:
        """One of the last generation as a case of its own, on one row, with all of its numbers."""
        moved = self.evolution.genes(0, place)
        inputs = {**self._inputs, **{name: array[None] for name, array in moved.items()}}
        return self.model.case(inputs, {**self.model.weights, **self.evolution.genes(1, place)})

    def tell(self, fitness: Sequence[float]) -> None:
        """The fitness of every individual of the last generation, in order; what is not a number ranks first."""
        self.evolution.tell(fitness)

    @property
    def generation(self) -> int:
        return self.evolution.generation

    @property
    def evaluations(self) -> int:
        return self.evolution.evaluations

    @property
    def best(self) -> float:
        return self.evolution.best

    @property
    def points(self) -> list[tuple[int, float]]:
        """The best fitness after so many evaluations, generation by generation."""
        return list(zip(self.evolution.evaluated, self.evolution.curve, strict=True))


def _name(model: ExposedModel) -> str:
    return model.graph.name if isinstance(model.graph, LayerGraph) else model.graph.path


def _ranges(
    arrays: Mapping[str, Array], scale: float, bounds: Mapping[str, Limits], reach: float | None
) -> dict[str, GeneRange]:
    found = {}
    for name, array in arrays.items():
        low, high = bounds.get(name, (None, None))
        own = None if reach is None else reach * spread(array)
        found[name] = GeneRange(scale * _wide(array, low, high), low, high, own)
    return found


def _wide(array: Array, low: float | Array | None, high: float | Array | None) -> float | Array:
    """What noise is measured by: of a table every column by its own range, for they have nothing in common."""
    if isinstance(low, np.ndarray) and isinstance(high, np.ndarray):
        return np.asarray((high.astype(np.float64) - low) * _OF_UNIFORM)
    return spread(array)
