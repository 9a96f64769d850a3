"""Stress: the input, within the range of the user's data, on which two targets differ most.

What is found is a lower bound of how far apart they can come: that nothing was found does not mean that there is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Arrays
from ...core.case import Case
from ...core.engine import Ask, Result
from ...core.errors import UsageError
from ...core.evolution import SearchSettings
from ...core.graph import LayerGraph
from ...core.jsontext import Json
from ...generators.search.exposed import ExposedModel, expose, without_embeddings
from ...generators.search.genetic import BOTH, INPUT, Bounds, Search
from ...oracles.audee import MEASURES, TOP_LAYER
from ...oracles.measure.individuals import DISTANCE, OTHER_LABEL, pair_name
from ...oracles.population import POPULATION

#: Searches that begin at different inputs.
_STARTS = 2
_SETTINGS = SearchSettings(size=64, parents=8, scale=0.2)


@dataclass(frozen=True)
class StressSettings:
    """How hard a model is stressed.

    Args:
        generations: of every search.
        tolerance: how far a weight may go from what it is, in standard deviations of its array; 0 leaves weights alone.
    """

    generations: int = 20
    tolerance: float = 0.0


@dataclass
class _Run:
    """One search for one pair, and the worst individual so far."""

    pair: tuple[str, str]
    search: Search
    worst: float = -1.0
    case: Case | None = None
    changed: int = 0
    evaluations: int = 0
    broken: bool = False

    def tell(self, result: Result) -> None:
        name = pair_name(*self.pair)
        distances = result.measures.get(DISTANCE, {}).get(name)
        if distances is None:
            self.broken = True
            return
        labels = result.measures.get(OTHER_LABEL, {}).get(name, ())
        row = int(np.argmax(distances))
        if distances[row] > self.worst:
            self.worst, self.case = float(distances[row]), self.search.individual(row)
        self.changed += int(sum(labels))
        self.evaluations += len(distances)
        self.search.tell(distances)


@dataclass
class _Answer:
    """What is said of one pair."""

    worst: float = 0.0
    changed: int = 0
    evaluations: int = 0
    layer: str = ""
    curves: list[Json] = field(default_factory=list)


class StressEngine:
    """Searches the worst input of one model for every pair of targets."""

    name = "stress"
    ahead = 0

    def __init__(
        self,
        graph: LayerGraph,
        weights: Arrays,
        inputs: Arrays,
        targets: Sequence[str],
        settings: StressSettings,
        seed: int = 0,
    ) -> None:
        graph, weights, inputs = without_embeddings(graph, weights, inputs)
        model = expose(graph, weights)
        level = BOTH if settings.tolerance else INPUT
        bounds = Bounds(data_range(inputs), reach=settings.tolerance or None)
        self._settings = settings
        starts = np.random.default_rng([seed, 0x57]).permutation(_rows(inputs))[:_STARTS]
        self._runs = [
            _Run(pair, _search(model, inputs, int(row), level, bounds, seed))
            for pair in itertools.combinations(targets, 2)
            for row in starts
        ]
        self._asked: list[_Run] = []
        self._looking: list[tuple[str, str]] = []
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._looked = False

    def ask(self) -> Sequence[Ask]:
        live = [run for run in self._runs if not run.broken and run.search.generation < self._settings.generations]
        self._asked = live
        if live:
            return [Ask(run.search.next_case(), run.pair, (POPULATION,), counted=False) for run in live]
        return self._look()

    def _look(self) -> Sequence[Ask]:
        """The worst individual of every pair once more, layer by layer."""
        if self._looked:
            return []
        self._looked = True
        asks = []
        for run in sorted(self._runs, key=lambda item: item.worst):
            answer = self._answers.setdefault(run.pair, _Answer())
            answer.worst = max(answer.worst, run.worst)
            answer.changed += run.changed
            answer.evaluations += run.evaluations
            answer.curves.append([[count, value] for count, value in run.search.points])
        for pair in self._answers:
            worst = max((run for run in self._runs if run.pair == pair), key=lambda item: item.worst)
            if worst.case is not None:
                asks.append(Ask(worst.case, pair, (MEASURES,), counted=False))
                self._looking.append(pair)
        return asks

    def tell(self, results: Sequence[Result]) -> None:
        if self._looking:
            for pair, result in zip(self._looking, results, strict=False):
                self._answers[pair].layer = str(result.facts.get(TOP_LAYER, {}).get(pair_name(*pair), ""))
            return
        for run, result in zip(self._asked, results, strict=False):
            run.tell(result)

    def tables(self) -> Mapping[str, Json]:
        return {
            "stress": [
                {
                    "a": a,
                    "b": b,
                    "distance": answer.worst,
                    "labels_changed": answer.changed,
                    "evaluations": answer.evaluations,
                    "layer": answer.layer,
                    "curves": answer.curves,
                }
                for (a, b), answer in self._answers.items()
            ]
        }


def data_range(inputs: Arrays) -> dict[str, tuple[float, float]]:
    """By input, the least and the greatest number of the data."""
    return {name: (float(array.min()), float(array.max())) for name, array in inputs.items() if array.size}


def _rows(inputs: Arrays) -> int:
    found = min((len(array) for array in inputs.values()), default=0)
    if not found:
        raise UsageError("there is no input to begin with")
    return found


def _search(model: ExposedModel, inputs: Arrays, row: int, level: str, bounds: Bounds, seed: int) -> Search:
    one = {name: array[row : row + 1] for name, array in inputs.items()}
    return Search(model, one, level, _SETTINGS, seed + row, bounds)
