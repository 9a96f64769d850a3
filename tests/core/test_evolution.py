"""Algorithm 1 without anything that runs: selection, crossover, mutation, and the rates that govern them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.core.evolution import RANDOM, Evolution, Genes, SearchSettings, spread
from tensorparity.core.population import GeneRange

SMALL = SearchSettings(size=6, parents=2, scale=1.0)


def evolution(settings: SearchSettings = SMALL, seed: int = 0) -> Evolution:
    base = {"x": np.zeros(5, np.float32)}
    return Evolution([Genes(base, {"x": GeneRange(1.0)}, 1, settings.crossover)], settings, seed)


def test_the_first_generation_is_a_whole_population_and_the_next_ones_lack_the_survivors() -> None:
    search = evolution()
    assert len(search.breed()) == 6
    search.tell([1, 2, 3, 4, 5, 6])
    assert len(search.breed()) == 4


def test_the_best_survive_and_are_the_parents() -> None:
    search = evolution()
    search.breed()
    genes = [search.genes(0, place)["x"] for place in range(6)]
    search.tell([0.0, 9.0, 1.0, 2.0, 8.0, 3.0])
    assert [row.tolist() for row in search.groups[0].parents["x"]] == [genes[1].tolist(), genes[4].tolist()]
    children = search.breed()
    assert {one.first for one in children} | {one.second for one in children} <= {0, 1}


def test_a_survivor_stays_until_somebody_is_better() -> None:
    search = evolution()
    search.breed()
    kept = search.genes(0, 2)["x"].tolist()
    search.tell([0.0, 0.0, 9.0, 0.0, 0.0, 0.0])
    search.breed()
    search.tell([9.0, 1.0, 1.0, 1.0])
    assert search.groups[0].parents["x"][0].tolist() == kept, "the older one comes first where they are equal"
    assert search.curve == [9.0, 9.0]
    assert search.evaluated == [6, 10]


def test_what_is_no_number_ranks_first() -> None:
    search = evolution()
    search.breed()
    first = search.genes(0, 3)["x"].tolist()
    search.tell([1e30, 1.0, 1.0, math.nan, 1.0, 1.0])
    assert search.groups[0].parents["x"][0].tolist() == first
    assert search.best == math.inf


def test_random_noise_is_selected_from_by_nobody() -> None:
    search = evolution(SearchSettings(size=6, parents=2, scale=1.0, strategy=RANDOM))
    for _ in range(3):
        assert len(search.breed()) == 6
        search.tell([1, 2, 3, 4, 5, 6])
    assert search.groups[0].parents["x"].tolist() == [[0.0] * 5]


def test_a_child_joins_only_if_it_is_moved() -> None:
    """Of children that are seldom moved more have to be made, so that the stream goes on elsewhere."""
    often, seldom = (evolution(SearchSettings(size=6, parents=2, mutation=rate)) for rate in (1.0, 0.2))
    for search in (often, seldom):
        search.breed()
        search.tell([1, 2, 3, 4, 5, 6])
    assert len(often.breed()) == len(seldom.breed()) == 4
    assert often.children != seldom.children


def test_noise_grows_with_what_it_moves() -> None:
    search = evolution()
    search.breed()
    search.tell([float(np.abs(search.genes(0, place)["x"]).max()) for place in range(6)])
    parents = search.groups[0].parents["x"]
    ranges = search.groups[0].population(()).ranges
    assert ranges["x"].scale == pytest.approx(spread(parents))


def test_the_seed_decides() -> None:
    assert evolution(seed=1).breed() == evolution(seed=1).breed() != evolution(seed=2).breed()


@pytest.mark.parametrize(
    "wrong", [{"size": 2, "parents": 2}, {"crossover": 1.5}, {"mutation": 0.0}, {"scale": 0.0}, {"strategy": "cma"}]
)
def test_constants_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        SearchSettings(**wrong)  # type: ignore[arg-type]


def test_the_defaults_are_those_that_are_documented() -> None:
    assert SearchSettings() == SearchSettings(64, 8, 0.5, 0.9, 0.1, "genetic")


def test_spread_is_never_nothing() -> None:
    assert spread(np.array([1.0, 3.0])) == 1.0
    assert spread(np.full(3, -2.0)) == 2.0
    assert spread(np.zeros(3)) == 1.0
