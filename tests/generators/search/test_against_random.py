"""The search beats noise of the same scale with the same number of evaluations, on every level and for both goals.

Two implementations of one network in float32 stand for two libraries: they differ in the order of their sums.
``bench/search_against_random.py`` does the same with libraries.
"""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.generators.search.exposed import expose
from tensorparity.generators.search.genetic import GENETIC, LEVELS, RANDOM, Search, SearchSettings
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.measure.individuals import row_distances, row_ranges

SEEDS = range(10)
GENERATIONS = 8


@pytest.fixture(scope="module")
def graph() -> LayerGraph:
    build = GraphBuilder("small")
    x = build.add("Dense", build.input("x", (16,)), name="first", units=24, activation="relu")
    x = build.add("Dense", x, name="second", units=24, activation="relu")
    return build.build(build.add("Softmax", build.add("Dense", x, name="logits", units=4), name="classes"))


def logits(x: Array, weights: dict[str, Array], *, backwards: bool) -> Array:
    """In float32, summing from the first or from the last product."""
    for name in ("first", "second", "logits"):
        products = x[:, None] * weights[f"{name}/kernel"]
        ordered = products[::-1] if backwards else products
        x = np.cumsum(ordered, axis=0, dtype=np.float32)[-1] + weights[f"{name}/bias"]
        x = np.maximum(x, np.float32(0.0)) if name != "logits" else x
    return x


def fitness(search: Search, case: Case, goal: str) -> list[float]:
    found = []
    for place in range(len(search.evolution.children)):
        alone = search.individual(place)
        with np.errstate(all="ignore"):
            one, other = (logits(alone.inputs["x"][0], dict(alone.weights), backwards=back) for back in (False, True))
        rows = row_ranges(one[None]) if goal == "nan" else row_distances(one[None], other[None])
        found.append(float(rows[0]))
    return found


def best(graph: LayerGraph, level: str, goal: str, strategy: str, seed: int, evaluations: int) -> float:
    rng = np.random.default_rng(0)
    weights = draw_weights(graph, rng)
    inputs = {"x": rng.standard_normal((1, 16)).astype(np.float32)}
    search = Search(expose(graph, weights), inputs, level, SearchSettings(16, 4, strategy=strategy), seed)
    seen: list[float] = []
    while len(seen) < evaluations:
        own = fitness(search, search.next_case(), goal)
        search.tell(own)
        seen += own
    return max(seen[:evaluations])


@pytest.mark.parametrize("goal", ["inconsistency", "nan"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_search_beats_noise(graph: LayerGraph, level: str, goal: str) -> None:
    """In nine of ten seeds at least: the one-sided sign test then gives p = 0.011."""
    count = 16 + (GENERATIONS - 1) * 12
    pairs = [[best(graph, level, goal, way, seed, count) for way in (GENETIC, RANDOM)] for seed in SEEDS]
    assert sum(genetic > random for genetic, random in pairs) >= 9, pairs
