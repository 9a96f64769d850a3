"""Stress: the input, within the range of the user's data, on which two targets differ most.

What is found is a lower bound of how far apart they can come: that nothing was found does not mean that there is none.
Searches begin at the rows of the data whose label has the smallest margin. One of them asks how far apart the targets
can come, the other whether a label changes: its fitness is the distance over the margin.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array, Arrays
from ...core.case import Case, ModelFile
from ...core.engine import Ask, KeptCase, Result
from ...core.errors import UsageError
from ...core.evolution import SearchSettings
from ...core.graph import LayerGraph
from ...core.jsontext import Json
from ...core.procedure import Procedure
from ...core.traits import Traits
from ...generators.search.bounds import data_range
from ...generators.search.exposed import ExposedModel, expose, expose_file, without_embeddings
from ...generators.search.genetic import BOTH, INPUT, Bounds, Search
from ...oracles.audee import MEASURES, TOP_LAYER
from ...oracles.kinds import DEFAULT_ORACLE
from ...oracles.margins import MARGINS
from ...oracles.measure.individuals import DISTANCE, OTHER_LABEL, pair_name
from ...oracles.population import POPULATION
from .populations import runs_populations

#: The table's name in ``tables``.
STRESS = "stress"
#: Searches that begin at different inputs: whether each of them asks for another label, or for distance alone.
_FOR_LABELS = (True, False)
#: Rows of the data among which those are looked for, and a margin that is none.
_SURVEYED, _LEAST_MARGIN = 512, 1e-12
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
    """One search for one pair, and the worst individual so far: the furthest apart, one with other labels before all.

    Args:
        for_labels: its fitness is the distance over the margin, where there are labels.
        trouble: why a generation could not be measured; the search is over then.
    """

    pair: tuple[str, str]
    search: Search
    for_labels: bool = False
    worst: float = -1.0
    parted: bool = False
    case: Case | None = None
    changed: int = 0
    evaluations: int = 0
    trouble: str = ""

    def tell(self, result: Result) -> None:
        name = pair_name(*self.pair)
        distances = result.measures.get(DISTANCE, {}).get(name)
        if distances is None:
            self.trouble = next((verdict.reason for verdict in result.verdicts), "nothing could be compared")
            return
        labels = [bool(other) for other in result.measures.get(OTHER_LABEL, {}).get(name, ())]
        self._remember(distances, labels or [False] * len(distances))
        self.changed += sum(labels)
        self.evaluations += len(distances)
        self.search.tell(self._fitness(distances, result))

    def _fitness(self, distances: Sequence[float], result: Result) -> Sequence[float]:
        margins = _margins(result, self.pair) if self.for_labels else None
        if margins is None:
            return distances
        return [distance / (margin + _LEAST_MARGIN) for distance, margin in zip(distances, margins, strict=True)]

    def ask(self) -> Ask:
        oracles = (POPULATION, MARGINS) if self.for_labels else (POPULATION,)
        return Ask(self.search.next_case(), self.pair, oracles, counted=False)

    def _remember(self, distances: Sequence[float], labels: Sequence[bool]) -> None:
        row = max(range(len(distances)), key=lambda place: (labels[place], distances[place]))
        self.worst = max(self.worst, *distances)
        if self.case is None or (labels[row], distances[row]) > (self.parted, self.kept_distance):
            self.case, self.parted, self.kept_distance = self.search.individual(row), labels[row], distances[row]

    #: How far apart the targets are on the individual that is kept.
    kept_distance: float = -1.0


@dataclass(frozen=True)
class _Answer:
    """What is said of one pair: what its searches found, and the layer that it came through."""

    runs: tuple[_Run, ...]
    layer: str = ""

    @property
    def best(self) -> _Run:
        return max(self.runs, key=lambda run: (run.parted, run.kept_distance))

    def to_json(self) -> dict[str, Json]:
        """Of a pair that could not be searched, why."""
        evaluations = sum(run.evaluations for run in self.runs)
        return {
            "a": self.best.pair[0],
            "b": self.best.pair[1],
            "distance": max(0.0, *(run.worst for run in self.runs)),
            "labels_changed": sum(run.changed for run in self.runs),
            "evaluations": evaluations,
            "layer": self.layer,
            "watched": self.best.search.model.watched,
            "level": self.best.search.level,
            "trouble": "" if evaluations else self.best.trouble,
            "curves": [[[count, value] for count, value in run.search.points] for run in self.runs],
        }


class StressEngine:
    """Searches the worst input of one model for every pair of targets.

    Args:
        subject: its layers, or the file where nobody can read those.
        traits: who takes weights apart from the model; weights are left alone for the others.
        batch_size: the only one that a file takes.
    """

    name = STRESS
    ahead = 0

    def __init__(
        self,
        subject: LayerGraph | ModelFile,
        weights: Arrays,
        inputs: Arrays,
        targets: Sequence[str],
        settings: StressSettings,
        traits: Traits,
        seed: int = 0,
        batch_size: int | None = None,
    ) -> None:
        #: Whether what embeddings give is moved, in the place of tokens.
        self.embedded = False
        if isinstance(subject, LayerGraph):
            behind, weights, inputs = without_embeddings(subject, weights, inputs)
            self.embedded = behind is not subject
            model = expose(behind, weights)
        else:
            model = expose_file(subject, batch_size)
        self._model, self._inputs, self._traits = model, inputs, traits
        self._bounds = Bounds(data_range(inputs), reach=settings.tolerance or None)
        self._settings, self._seed, self._targets = settings, seed, tuple(targets)
        self._rows = np.random.default_rng([seed, 0x57]).permutation(_rows(inputs))[:_SURVEYED]
        self._runs: dict[tuple[str, str], tuple[_Run, ...]] = {}
        self._asked: list[_Run] = []
        self._looking: list[tuple[str, str]] = []
        self._layers: dict[tuple[str, str], str] = {}
        self._looked = self._surveyed = False
        self._make(Result(0, ""))

    def _make(self, surveyed: Result) -> None:
        """The searches of every pair, from the rows with the smallest margins; from any where nobody knows those."""
        for pair in itertools.combinations(self._targets, 2):
            margins = _margins(surveyed, pair)
            order = self._rows if margins is None else self._rows[np.argsort(margins, kind="stable")]
            starts = np.resize(order, len(_FOR_LABELS))
            level = _level(self._model, pair, self._settings, self._traits)
            self._runs[pair] = tuple(
                _Run(pair, _search(self._model, self._inputs, int(row), level, self._bounds, self._seed), for_labels)
                for row, for_labels in zip(starts, _FOR_LABELS, strict=True)
            )

    def _survey(self) -> Ask:
        """Some of the data as they are, for their margins."""
        inputs = {name: array[self._rows] for name, array in self._inputs.items()}
        procedure = Procedure(batch_size=self._model.batch_size or len(self._rows))
        case = Case(self._model.graph, procedure, inputs, weights=self._model.weights)
        return Ask(case, self._targets, (MARGINS,), counted=False)

    def ask(self) -> Sequence[Ask]:
        if not self._surveyed:
            return [self._survey()]
        everybody = [run for runs in self._runs.values() for run in runs]
        live = [run for run in everybody if not run.trouble and run.search.generation < self._settings.generations]
        self._asked = live
        return [run.ask() for run in live] if live else self._look()

    def _look(self) -> Sequence[Ask]:
        """The worst individual of every pair once more: judged as any case is, and looked at layer by layer."""
        if self._looked:
            return []
        self._looked = True
        worst = {pair: run.case for pair, run in self._best().items() if run.case is not None}
        self._looking = list(worst)
        looks = [Ask(case, pair, (MEASURES,), counted=False) for pair, case in worst.items()]
        return [*looks, *(Ask(case, pair, (DEFAULT_ORACLE,), counted=False) for pair, case in worst.items())]

    def _best(self) -> dict[tuple[str, str], _Run]:
        return {pair: _Answer(runs).best for pair, runs in self._runs.items()}

    def tell(self, results: Sequence[Result]) -> None:
        if not self._surveyed:
            self._surveyed = True
            self._make(results[0])
            return
        if self._looking:
            for pair, result in zip(self._looking, results, strict=False):
                self._layers[pair] = str(result.facts.get(TOP_LAYER, {}).get(pair_name(*pair), ""))
            return
        for run, result in zip(self._asked, results, strict=False):
            run.tell(result)

    def kept_cases(self) -> Sequence[KeptCase]:
        """The worst individual of every pair."""
        return [
            KeptCase(STRESS, row, pair[0], run.case, ("stress", *pair), _note(run))
            for row, (pair, run) in enumerate(self._best().items())
            if run.case is not None
        ]

    def tables(self) -> Mapping[str, Json]:
        answers = [_Answer(runs, self._layers.get(pair, "")) for pair, runs in self._runs.items()]
        return {STRESS: [answer.to_json() for answer in answers]}


def _note(run: _Run) -> str:
    a, b = run.pair
    label = ", with another label" if run.parted else ""
    return f"the input on which {a} and {b} came furthest apart under stress: {run.kept_distance:.3g}{label}"


def _level(model: ExposedModel, pair: tuple[str, str], settings: StressSettings, traits: Traits) -> str:
    """Weights are moved only where both targets take them apart from the model, and only if the user allows it."""
    able = isinstance(model.graph, LayerGraph) and all(runs_populations(traits[target]) for target in pair)
    return BOTH if settings.tolerance and able else INPUT


def _margins(result: Result, pair: tuple[str, str]) -> Array | None:
    """By row, the smaller of the margins on both targets; None where one has no labels."""
    found = [result.measures.get(MARGINS, {}).get(target) for target in pair]
    return None if None in found or not all(found) else np.min(np.asarray(found, np.float64), axis=0)


def _rows(inputs: Arrays) -> int:
    found = min((len(array) for array in inputs.values()), default=0)
    if not found:
        raise UsageError("there is no input to begin with")
    return found


def _search(model: ExposedModel, inputs: Arrays, row: int, level: str, bounds: Bounds, seed: int) -> Search:
    one = {name: array[row : row + 1] for name, array in inputs.items()}
    return Search(model, one, level, _SETTINGS, seed + row, bounds)
