"""Numbers of every class and dtype."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.generators.api_inputs.values import draw


def drawn(dtype: str, values: str) -> np.ndarray:
    return draw(np.random.default_rng(3), (200,), dtype, values)


@pytest.mark.parametrize(("dtype", "part"), [("complex64", np.float32), ("complex128", np.float64)])
def test_both_parts_of_a_complex_number_reach_the_ends_of_their_own_type(dtype: str, part: type) -> None:
    found = drawn(dtype, "extremes")
    assert found.dtype == dtype
    for own in (found.real, found.imag):
        assert np.isfinite(own).all()
        assert np.abs(own).max() > np.finfo(part).max / 4


def test_infinite_parts_leave_the_other_part_alone() -> None:
    found = drawn("complex64", "not finite")
    assert (np.isinf(found.real) & np.isfinite(found.imag)).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_among_extremes_are_numbers_that_only_overflow_when_squared(dtype: str) -> None:
    found = drawn(dtype, "extremes")
    with np.errstate(over="ignore"):
        middle = np.isinf(found * found) & (np.abs(found) < np.finfo(dtype).max / 8)
    assert middle.any()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
def test_constants_are_one_number_and_singular_matrices_have_rows_that_are_alike(dtype: str) -> None:
    rng = np.random.default_rng(3)
    constant, singular = (draw(rng, (2, 5, 5), dtype, values) for values in ("constant", "singular"))
    assert (constant == constant[0, 0, 0]).all()
    assert (singular == singular[:, :1]).all()
    assert dtype == "bool" or not (singular == singular[0, 0, 0]).all()
    assert draw(rng, (0, 3), dtype, "singular").shape == (0, 3)
