"""The search of our own: inputs that fit, and a nose for where the error is."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import Array, dtype_named
from tensorparity.engines.predoo.guided import MIXED, GuidedSearch
from tensorparity.generators.inputs.operators import SOURCES, Range, draw
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.functions.spec import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["log", "atanh", "ndtri", "matmul", "acosh"])
def test_inputs_are_in_the_domain_and_exact_in_the_dtype(name: str, source: str, dtype: str) -> None:
    operator = OPERATORS.get(name)
    for operand in operator.operands:
        x = draw(source, np.random.default_rng(0), (50, 7), operand, dtype, middle=operator.accumulates)
        assert np.isfinite(x).all()
        assert (x >= operand.low).all()
        assert (x <= operand.high).all()
        np.testing.assert_array_equal(x.astype(dtype_named(dtype)).astype(np.float64), x)
        tiny = np.abs(x[x != 0])
        assert (tiny >= Range.of(dtype).smallest).all()


def largest_after(source: str | None, rounds: int, seed: int) -> float:
    """A function that is wrong in a narrow place far from where normal numbers are."""

    def error(x: Array) -> Array:
        return np.exp(-np.abs(np.log2(np.maximum(np.abs(x), 1e-30)) + 12.3) * 3)

    search = GuidedSearch(OPERATORS.get("tanh"), "float32", (8,), {}, np.random.default_rng(seed), source=source)
    for _ in range(rounds):
        values = error(search.ask(50).arrays["x"])
        search.tell({"a": values.max(axis=1)}, {"a": values.argmax(axis=1)})
    return search.best


def test_guidance_beats_the_papers_distribution() -> None:
    for seed in range(5):
        assert largest_after(None, 10, seed) > largest_after("normal", 10, seed)


def test_the_seed_decides() -> None:
    def first(seed: int) -> Array:
        search = GuidedSearch(OPERATORS.get("erf"), "float16", (5,), {}, np.random.default_rng(seed))
        return search.ask(20).arrays["x"]

    np.testing.assert_array_equal(first(1), first(1))
    assert not np.array_equal(first(1), first(2))


def test_one_source_alone_is_no_guidance() -> None:
    search = GuidedSearch(OPERATORS.get("erf"), "float32", (5,), {}, np.random.default_rng(0), source="normal")
    search.ask(10)
    search.tell({"a": np.arange(10.0)}, {"a": np.zeros(10, int)})
    assert search.ask(10).arrays["x"].std() < 5
    assert set(MIXED) == set(SOURCES)
