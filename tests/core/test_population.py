"""Populations: the host and the worker make the same numbers, of streams that never change."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.population import TABLE_SIZE, GeneRange, Individual, Population, tables
from tensorparity.core.procedure import Procedure
from tensorparity.worker import population as worker

RANGES = {"a/kernel": GeneRange(0.5), "b/kernel": GeneRange(2.0, -1.0, 1.0), "b/bias": GeneRange(1.0, reach=0.25)}
INDIVIDUALS = (Individual(0, 1, 7), Individual(1, 1, 8), Individual(1, 0, None), Individual(0, 0, 2**31 - 2))


@pytest.fixture(scope="module")
def base() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    shapes = {"a/kernel": (3, 4), "b/kernel": (5,), "b/bias": (2, 2)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def parents(base: dict[str, Array]) -> dict[str, Array]:
    return {name: np.stack([array, array + 1]) for name, array in base.items()}


def test_host_and_worker_make_the_same_numbers(base: dict[str, Array], parents: dict[str, Array]) -> None:
    population = Population(3, 0.5, RANGES, INDIVIDUALS)
    made = list(worker.chromosomes(population.to_json(), parents, base))
    for place, there in enumerate(made):
        here = population.chromosome(parents, place, base)
        assert {name: array.tobytes() for name, array in here.items()} == {n: a.tobytes() for n, a in there.items()}
    assert worker.TABLE_SIZE == TABLE_SIZE


def test_a_window_that_reaches_the_end_begins_again(base: dict[str, Array]) -> None:
    long = {"a": np.zeros(TABLE_SIZE + 3, np.float32)}
    population = Population(3, 0.5, {"a": GeneRange(1.0)}, (Individual(0, 0, 1),))
    parents = {name: array[None] for name, array in long.items()}
    (there,) = worker.chromosomes(population.to_json(), parents, long)
    here = population.chromosome(parents, 0, long)
    assert here["a"].tobytes() == there["a"].tobytes()
    assert here["a"][:3].tolist() == here["a"][TABLE_SIZE:].tolist()


def test_the_stream_is_the_one_that_numpy_has_frozen() -> None:
    uniform, cauchy = tables(1)
    assert uniform[:2].tolist() == [np.float32(0.417022004702574), np.float32(0.7203244934421581)]
    assert cauchy[0] == worker.tables(1)[1][0]


def test_genes_stay_within_their_bounds(base: dict[str, Array], parents: dict[str, Array]) -> None:
    population = Population(3, 0.5, RANGES, INDIVIDUALS)
    for place in (0, 1, 3):
        own = population.chromosome(parents, place, base)
        assert np.abs(own["b/kernel"]).max() <= 1.0
        assert np.abs(own["b/bias"] - base["b/bias"]).max() <= 0.25 + 1e-6
    assert np.abs(population.chromosome(parents, 0, base)["a/kernel"]).max() > 1.0


@pytest.mark.parametrize(("crossover", "parent"), [(1.0, 0), (0.0, 1)])
def test_the_crossover_rate_is_the_share_of_the_first_parent(crossover: float, parent: int) -> None:
    parents = {"a": np.stack([np.zeros(1000), np.full(1000, 100.0)]).astype(np.float32)}
    population = Population(3, crossover, {"a": GeneRange(1e-9)}, (Individual(0, 1, 5),))
    own = population.chromosome(parents, 0, {"a": parents["a"][0]})["a"]
    assert np.allclose(own, parents["a"][parent], atol=1.0)


def test_half_of_the_genes_come_from_each_parent_at_one_half() -> None:
    parents = {"a": np.stack([np.zeros(10_000), np.full(10_000, 100.0)]).astype(np.float32)}
    population = Population(3, 0.5, {"a": GeneRange(1e-9)}, (Individual(0, 1, 5),))
    own = population.chromosome(parents, 0, {"a": parents["a"][0]})["a"]
    assert abs((own > 50.0).mean() - 0.5) < 0.03


def test_a_procedure_without_a_population_says_nothing_of_one() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (2,)), units=1))
    plain = Case(graph, Procedure(), {"x": np.ones((1, 2), np.float32)})
    assert "population" not in plain.procedure.to_json()
    assert not any(name.startswith("parents") for name in plain.arrays())
    population = Population(3, 0.5, RANGES, INDIVIDUALS)
    crowded = Case(graph, Procedure(population=population), plain.inputs, parents={"a": np.zeros((2, 1))})
    again = Case.from_parts(crowded.header(), crowded.arrays())
    assert again.procedure.population == population
    assert again.digest == crowded.digest != plain.digest


def test_individuals_are_handed_over_together_as_far_as_their_genes_go() -> None:
    def some(count: int, genes: int) -> list[worker.Chromosome]:
        found = [worker.Chromosome() for _ in range(count)]
        for one in found:
            one.vector = np.zeros(genes, np.float32)
        return found

    assert [len(group) for group in worker.grouped(iter(some(7, 10)), 30)] == [3, 3, 1]
    assert [len(group) for group in worker.grouped(iter(some(3, 10)), 0)] == [1, 1, 1], "one by one"
    assert [len(group) for group in worker.grouped(iter(some(2, 0)), 30)] == [1, 1], "nothing to hand over at once"
