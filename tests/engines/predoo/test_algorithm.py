"""Algorithm 1, detail by detail, against a loop written from the paper input by input."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.errors import DataError, UsageError
from tensorparity.engines.predoo.algorithm import THETAS, PaperSearch, grouped_largest, seeds_for
from tensorparity.engines.predoo.paper import shape_for
from tensorparity.operators.functions.catalogue import OPERATORS

RELU = OPERATORS.get("relu")
SHAPE = (3,)


def error_of(x: Array) -> float:
    """Some error that depends on every element."""
    return float(np.abs(np.sin(x * 1e4)).sum())


def run(strategy: str, total: int, most: int, size: int = 5, seed: int = 0) -> tuple[list[Array], PaperSearch]:
    search = PaperSearch(RELU, SHAPE, strategy, total, np.random.default_rng(seed), size=size)
    seen: list[Array] = []
    while not search.done:
        batches = search.ask(most)
        rows = {place: batch.arrays["x"][row] for batch in batches for row, place in enumerate(batch.places)}
        ordered = [rows[place] for place in sorted(rows)]
        seen += ordered
        search.tell(np.array([error_of(row) for row in ordered]))
    return seen, search


def by_the_book(total: int, size: int, seed: int, guided: bool) -> list[Array]:
    """One input after another: choose, mutate, execute, add what raised the largest error, refill."""
    rng = np.random.default_rng(seed)
    corpus: deque[Array] = deque()
    seen: list[Array] = []
    largest = 0.0
    while len(seen) < total:
        if not corpus:
            corpus.extend(rng.standard_normal((size, *SHAPE)))
        candidate = corpus.popleft()
        deltas = [rng.uniform(0.0, theta) for theta in THETAS]
        for delta in deltas[: total - len(seen)]:
            mutated = candidate + delta
            seen.append(mutated)
            if error_of(mutated) > largest:
                largest = error_of(mutated)
                if guided:
                    corpus.append(mutated)
    return seen


@pytest.mark.parametrize("most", [1, 3, 4, 7, 12, 445, 1000])
@pytest.mark.parametrize("strategy", ["random", "linf"])
def test_batches_change_nothing(strategy: str, most: int) -> None:
    expected = by_the_book(100, 5, 0, guided=strategy != "random")
    found, _ = run(strategy, 100, most)
    np.testing.assert_array_equal(found, expected)


def test_it_ends_after_exactly_so_many_inputs() -> None:
    for total in (1, 2, 50, 61):
        assert len(run("linf", total, 9)[0]) == total


def test_a_mutation_is_one_constant_for_all_elements_within_theta() -> None:
    search = PaperSearch(RELU, (50,), "random", 300, np.random.default_rng(3), size=10)
    rng = np.random.default_rng(3)
    seeds = rng.standard_normal((10, 50))
    (batch,) = search.ask(30)
    moved = batch.arrays["x"] - np.repeat(seeds, 3, axis=0)
    np.testing.assert_allclose(moved, moved[:, :1] * np.ones(50), atol=1e-15)
    for position, theta in enumerate(THETAS):
        constants = moved[position::3, 0]
        assert (constants >= -1e-15).all()
        assert (constants <= theta + 1e-15).all()
    assert THETAS == (1e-4, 1e-6, 1e-8)


def test_what_is_picked_is_not_put_back_and_an_empty_corpus_is_refilled() -> None:
    _, search = run("random", 90, 1000, size=5)
    assert search.refills == 6  # fifteen inputs from five seeds


def test_guidance_adds_and_so_refills_less() -> None:
    _, guided = run("linf", 300, 1000, size=5)
    _, random = run("random", 300, 1000, size=5)
    assert guided.refills < random.refills


def test_an_exception_is_no_error() -> None:
    search = PaperSearch(RELU, SHAPE, "linf", 30, np.random.default_rng(0), size=5)
    search.ask(15)
    search.tell(np.full(15, np.nan))
    assert search.best == 0.0
    assert search.refills == 1
    search.ask(15)
    assert search.refills == 2  # nothing was added


def test_other_parameters_are_drawn_per_candidate_and_equal_ones_share_a_call() -> None:
    conv = OPERATORS.get("conv2d")
    search = PaperSearch(conv, (5, 5, 1), "linf", 120, np.random.default_rng(0), size=40)
    batches = search.ask(120)
    assert len(batches) > 4
    assert sorted(place for batch in batches for place in batch.places) == list(range(120))
    formats = {batch.params.get("data_format", "channels_last") for batch in batches}
    assert formats == {"channels_last", "channels_first"}
    for batch in batches:
        assert len(batch.places) % 3 == 0
        assert batch.arrays["kernel"].shape[:2] == (batch.params.get("size", 3),) * 2


def test_times_reach_the_case() -> None:
    search = PaperSearch(OPERATORS.get("tanh"), SHAPE, "random", 3, np.random.default_rng(0), size=1, times=4)
    (batch,) = search.ask(3)
    assert batch.case(OPERATORS.get("tanh"), "float16").subject.kwargs["times"] == 4  # type: ignore[union-attr]


def test_groups_in_chronological_order() -> None:
    errors = np.arange(40.0)
    assert grouped_largest(errors, 4) == [9.0, 19.0, 29.0, 39.0]
    assert grouped_largest(np.full(4, np.nan), 2) == [0.0, 0.0]


@pytest.mark.parametrize(("name", "shape", "times"), [("conv2d", (28, 28, 3), 5), ("pooling", (28, 28, 3), 4)])
def test_windows_are_applied_to_what_they_give(name: str, shape: tuple[int, ...], times: int) -> None:
    operator = OPERATORS.get(name)
    search = PaperSearch(operator, shape, "random", 30, np.random.default_rng(0), size=10, times=times)
    for batch in search.ask(30):
        assert batch.params["times"] == times
        value = operator.evaluate(batch.params, [np.asarray(array) for array in batch.arrays.values()]).value
        assert value.shape[-1] == shape[-1]
        assert min(value.shape[1:-1]) >= 1


def test_windows_that_do_not_fit_so_often_are_refused() -> None:
    search = PaperSearch(OPERATORS.get("pooling"), (4, 4, 1), "random", 3, np.random.default_rng(0), size=1, times=9)
    with pytest.raises(DataError, match="cannot be applied 9 times: a window of . does not fit"):
        search.ask(3)


def test_given_parameters_are_not_drawn() -> None:
    conv = OPERATORS.get("conv2d")
    search = PaperSearch(conv, (5, 5, 1), "linf", 60, np.random.default_rng(0), size=20, given={"strides": 2})
    found = [batch.params for batch in search.ask(60)]
    assert {params.get("strides") for params in found} == {2}
    assert len({params.get("padding") for params in found}) > 1


def test_the_shape_is_the_users_and_the_papers_batch_is_left_out() -> None:
    conv, relu = OPERATORS.get("conv2d"), OPERATORS.get("relu")
    assert shape_for(conv, (1, 9, 8, 2)) == shape_for(conv, (9, 8, 2)) == (9, 8, 2)
    assert shape_for(conv, None) == conv.shapes[0]
    assert shape_for(relu, (7,)) == (7,)
    with pytest.raises(UsageError, match="conv2d takes inputs of 3 axes. Received: 9,8"):
        shape_for(conv, (9, 8))


def test_seeds_are_from_the_standard_normal() -> None:
    search = PaperSearch(RELU, (100,), "random", 300, np.random.default_rng(5), size=100)
    (batch,) = search.ask(300)
    drawn = batch.arrays["x"]
    assert drawn.shape == (300, 100)
    assert abs(float(drawn.mean())) < 0.05
    assert abs(float(drawn.std()) - 1.0) < 0.05
    assert float((np.abs(drawn) < 1.0).mean()) == pytest.approx(0.683, abs=0.02)


def test_each_candidate_is_moved_by_one_constant_below_each_theta() -> None:
    search = PaperSearch(RELU, (8,), "random", 30, np.random.default_rng(5), size=10)
    (batch,) = search.ask(30)
    rows = batch.arrays["x"].reshape(10, 3, 8)
    again = PaperSearch(RELU, (8,), "random", 30, np.random.default_rng(5), size=10)
    again._refill()
    moved = rows - np.stack([row["x"] for row in again._corpus])[:, None]
    assert (np.ptp(moved, axis=2) < 1e-15).all(), "all elements by the same"
    largest = moved.max(axis=(0, 2))
    assert (moved > -1e-15).all()
    for theta, found in zip((1e-4, 1e-6, 1e-8), largest, strict=True):
        assert theta / 3 < found <= theta * (1 + 1e-6)


def test_a_corpus_has_the_inputs_of_one_of_twenty_groups() -> None:
    assert seeds_for(20_000) == 1000
    assert seeds_for(3) == 1
    assert len(grouped_largest(np.arange(40.0))) == 20


def test_the_shape_resolver_gives_every_operand_its_shape() -> None:
    assert OPERATORS.get("conv2d").sizes({}, (28, 28, 3)) == {"x": (28, 28, 3), "kernel": (3, 3, 3, 8)}
