"""What the benchmarks of Audee's search share: seed models, and a search run on targets to its end."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.graph import LayerGraph
from tensorparity.core.runner import run_case
from tensorparity.generators.search.exposed import expose, without_embeddings
from tensorparity.generators.search.genetic import WEIGHT, Bounds, Search, SearchSettings
from tensorparity.oracles.measure.individuals import (
    DISTANCE,
    NAN,
    OTHER_LABEL,
    RANGE,
    measure_rows,
    outputs_looked_at,
    pair_name,
)
from tensorparity.targets.runner import LocalRunner
from tensorparity.zoo.entries import ZOO
from tensorparity.zoo.weights import calibrated_weights, sample_inputs


def calibrated(name: str, seed: int = 0) -> tuple[LayerGraph, dict[str, Array], dict[str, Array]]:
    """A model of the zoo with calibrated weights, and one input."""
    graph = ZOO[name].build()
    return graph, calibrated_weights(graph, seed), sample_inputs(graph, np.random.default_rng([seed, 1]), 1)


def search_of(
    graph: LayerGraph,
    weights: dict[str, Array],
    inputs: dict[str, Array],
    level: str,
    settings: SearchSettings,
    seed: int,
    bounds: Bounds | None = None,
) -> Search:
    if level != WEIGHT:
        graph, weights, inputs = without_embeddings(graph, weights, inputs)  # type: ignore[assignment]
    return Search(expose(graph, weights), inputs, level, settings, seed, bounds)


@dataclass
class Searched:
    """What came of a search.

    Args:
        fitness: of every individual, in the order of evaluation.
        failed: the place of the first one that failed; None where none did.
        culprit: that individual as a case of its own.
    """

    fitness: list[float] = field(default_factory=list)
    failed: int | None = None
    culprit: Case | None = None
    seconds: float = 0.0

    def best(self, evaluations: int) -> float:
        return max(self.fitness[:evaluations], default=-math.inf)


def run_search(
    runner: LocalRunner,
    search: Search,
    targets: Sequence[str],
    goal: str,
    generations: int,
    *,
    seconds: float = math.inf,
    until_failure: bool = False,
) -> Searched:
    """Run a search on one target (NaN) or a pair (inconsistency)."""
    found, began = Searched(), time.monotonic()
    for _ in range(generations):
        case = search.next_case()
        outcomes = run_case(runner, case, targets)
        bad = [outcome for outcome in outcomes.values() if not outcome.completed]
        if bad:
            raise SystemExit(f"{bad[0].target}: {bad[0].failure}")
        assert isinstance(case.subject, LayerGraph)
        measures = measure_rows(outputs_looked_at(case.subject), outcomes, len(search.evolution.children))
        key = targets[0] if goal == "nan" else pair_name(*targets)
        fitness = measures[RANGE if goal == "nan" else DISTANCE][key]
        failed = [row for row, has in enumerate(measures[NAN if goal == "nan" else OTHER_LABEL][key]) if has]
        if failed and found.failed is None:
            found.failed, found.culprit = len(found.fitness) + failed[0] + 1, search.individual(failed[0])
        found.fitness += fitness
        search.tell(fitness)
        found.seconds = time.monotonic() - began
        if (until_failure and failed) or found.seconds > seconds:
            break
    return found


def wilcoxon(differences: Sequence[float]) -> float:
    """The exact one-sided p of the paired signed-rank test: that the differences are not above zero."""
    own = [value for value in differences if value != 0.0]
    if not own:
        return 1.0
    order = np.argsort(np.abs(own))
    ranks = np.empty(len(own))
    ranks[order] = np.arange(1, len(own) + 1)
    for value in np.unique(np.abs(own)):
        same = np.abs(own) == value
        ranks[same] = ranks[same].mean()
    seen = float(ranks[np.array(own) > 0].sum())
    sums = [float(np.dot(signs, ranks)) for signs in itertools.product((0, 1), repeat=len(own))]
    return sum(total >= seen for total in sums) / len(sums)
