"""Numbers up to the edge of the range, for what adds them up."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.engines.predoo.guided import GuidedSearch
from tensorparity.generators.inputs.operators import SUMS, Range, edge
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.functions.spec import Operand


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_no_order_of_adding_leaves_the_range(dtype: str) -> None:
    drawn = edge(np.random.default_rng(0), (50, 17), Operand("x"), dtype)
    total = np.abs(drawn.astype(np.longdouble)).sum(axis=1)
    assert (total <= Range.of(dtype).largest).all()
    assert (total >= 0.4 * Range.of(dtype).largest).all()
    assert (np.abs(np.sign(drawn).sum(axis=1)) == 17).all()


def test_sums_of_float16_leave_the_range_and_means_do_not() -> None:
    drawn = edge(np.random.default_rng(0), (50, 17), Operand("x"), "float16")
    assert np.abs(drawn).max() > 0.9 * 65504
    assert np.abs(drawn.mean(axis=1)).max() < 65504


@pytest.mark.parametrize("name", sorted(SUMS))
def test_they_are_asked_of_what_adds_up(name: str) -> None:
    operator = OPERATORS.get(name)
    search = GuidedSearch(operator, "float16", operator.shapes[0], {}, np.random.default_rng(1), source="overflow")
    batch = search.ask(8)
    assert np.abs(batch.arrays["x"]).max() > 0.9 * 65504
