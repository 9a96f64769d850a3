"""Differences in units of roundoff: scales, infinities, dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tensorparity.core.arrays import Array
from tensorparity.oracles.measure.roundoff import SCREEN, nonfinite_pattern_differs, output_units, scaled_difference

F32 = np.float32


def test_difference_is_relative_to_the_instances_own_scale() -> None:
    a = np.array([[100.0, 1.0], [1.0, 0.5]], F32)
    b = a + np.array([[1.0, 0.0], [0.0, 0.5]], F32)
    np.testing.assert_allclose(scaled_difference(a, b), [1 / 101, 0.5], rtol=1e-6)


def test_one_unit_is_the_roundoff_of_the_dtype() -> None:
    a = np.array([[1.0]], F32)
    assert output_units(a, np.nextafter(a, F32(2))) == pytest.approx(2.0)


def test_the_coarser_dtype_counts() -> None:
    a, b = np.array([[1.0]], F32), np.array([[1.0 + 2**-7]], ml_dtypes.bfloat16)
    assert output_units(a, b.astype(F32)) > SCREEN
    assert output_units(a, b) <= 2.0


def test_integers_are_exact() -> None:
    a = np.array([[1, 2]])
    assert output_units(a, a) == 0.0
    assert output_units(a, a + 1) > SCREEN


def test_subnormal_scales_do_not_divide_by_zero() -> None:
    a = np.array([[0.0]], F32)
    assert output_units(a, a) == 0.0
    assert np.isfinite(scaled_difference(a, np.array([[1e-45]], F32))).all()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_is_equal_to_nothing(shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape, F32)
    assert output_units(empty, empty) == 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_same_on_both_sides_is_equal(value: float) -> None:
    a = np.array([[value, 1.0]], F32)
    assert output_units(a, a) == 0.0
    assert not nonfinite_pattern_differs(a, a)


@pytest.mark.parametrize(("one", "other"), [(np.nan, 1.0), (np.inf, 1.0), (np.inf, -np.inf), (np.nan, np.inf)])
def test_another_pattern_is_infinitely_far(one: float, other: float) -> None:
    a, b = np.array([[one, 1.0]], F32), np.array([[other, 1.0]], F32)
    assert nonfinite_pattern_differs(a, b)
    assert nonfinite_pattern_differs(b, a)
    assert output_units(a, b) == np.inf


def test_integers_have_no_pattern() -> None:
    assert not nonfinite_pattern_differs(np.array([1]), np.array([np.nan]))


floats = arrays.arrays(np.float32, (2, 4), elements=st.floats(width=32))


@given(floats, floats)
def test_symmetric_and_never_nan(a: Array, b: Array) -> None:
    found = scaled_difference(a, b)
    np.testing.assert_array_equal(found, scaled_difference(b, a))
    assert (found >= 0).all()
    assert nonfinite_pattern_differs(a, b) == nonfinite_pattern_differs(b, a)


@given(floats)
def test_identity(a: Array) -> None:
    assert output_units(a, a.copy()) == 0.0


class TestEveryDtype:
    def test_the_imaginary_part_counts(self) -> None:
        a = np.array([[1 + 1j, 2]], np.complex64)
        assert output_units(a, a.copy()) == 0.0
        assert output_units(a, a.conj()) > SCREEN
        assert output_units(a, a * np.complex64(1 + 2**-23)) <= SCREEN

    def test_a_nan_in_the_imaginary_part_is_a_pattern(self) -> None:
        a, b = np.array([[1 + 1j]], np.complex64), np.array([[complex(1, np.nan)]], np.complex64)
        assert nonfinite_pattern_differs(a, b)
        assert not nonfinite_pattern_differs(b, b)

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            (np.array([[1, 2**60]]), np.array([[1, 2**60 + 1]])),
            (np.array([[2**52, 10**18]]), np.array([[2**52 + 1, 10**18]])),
            (np.array([[True, False]]), np.array([[True, True]])),
            (np.array([["a", "b"]]), np.array([["a", "c"]])),
            (np.array(["a"], object), np.array(["b"], object)),
        ],
        ids=["beyond 2**53", "beside a large one", "bool", "str", "object"],
    )
    def test_what_is_exact_is_equal_or_infinitely_far(self, a: Array, b: Array) -> None:
        assert output_units(a, b) == np.inf
        assert output_units(a, a.copy()) == 0.0
        assert not nonfinite_pattern_differs(a, b)

    @pytest.mark.parametrize(("dtype", "bits"), [(np.float16, 10), (ml_dtypes.bfloat16, 7)])
    def test_narrow_floats_are_measured_in_their_own_roundoff(self, dtype: type, bits: int) -> None:
        a = np.array([[1.0]], dtype)
        assert output_units(a, np.array([[1 + 2.0**-bits]], dtype)) == pytest.approx(2.0, rel=0.01)
        assert nonfinite_pattern_differs(a, np.array([[np.nan]], dtype))
