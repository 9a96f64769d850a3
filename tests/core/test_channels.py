"""Arrays of every dtype compared: floats, complex numbers, integers beyond 2**53, booleans, strings."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.channels import channels, distance, from_channels, is_exact, is_finite, magnitude, same

BIG = 2**60


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (np.array([1 + 1j, 1 + 1j], np.complex64), np.array([1 + 1j, 4 + 5j], np.complex64), [0, 5]),
        (np.array([1.0, 1.0], np.float32), np.array([1.0, 1 + 2j], np.complex64), [0, 2]),
        (np.array([BIG, BIG]), np.array([BIG, BIG + 1]), [0, 1]),
        (np.array([BIG], np.int64), np.array([BIG + 1], np.uint64), [1]),
        (np.array([3, 250], np.uint8), np.array([250, 250], np.uint8), [247, 0]),
        (np.array([True, False]), np.array([True, True]), [0, 1]),
        (np.array(["a", "b"]), np.array(["a", "c"], object), [0, 1]),
        (np.array(["1"]), np.array([1.0]), [1]),
        (np.array([1.5, 2], np.float16), np.array([1, 2], np.float16), [0.5, 0]),
        (np.array([1.5, 2], ml_dtypes.bfloat16), np.array([1, 2], ml_dtypes.bfloat16), [0.5, 0]),
        (np.array([1, 2], ml_dtypes.int4), np.array([1, 4], ml_dtypes.int4), [0, 2]),
        (np.array([np.nan, np.inf, np.inf]), np.array([np.nan, np.inf, -np.inf]), [0, 0, np.inf]),
        (np.array([np.nan + 1j]), np.array([np.nan + 2j]), [1]),
        (np.array([np.nan, 1.0]), np.array([1.0, np.inf]), [np.inf, np.inf]),
    ],
)
def test_distance(a: Array, b: Array, expected: list[float]) -> None:
    np.testing.assert_array_equal(distance(a, b), expected)
    np.testing.assert_array_equal(distance(b, a), expected)
    np.testing.assert_array_equal(same(a, b), np.array(expected) == 0)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_, ml_dtypes.int4, "U3", object])
def test_exact(dtype: object) -> None:
    array = np.ones(2).astype(dtype)  # type: ignore[call-overload]
    assert is_exact(array)
    assert is_finite(array).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, np.complex64])
def test_not_exact(dtype: type) -> None:
    assert not is_exact(np.ones(2, dtype))
    assert list(is_finite(np.array([1, np.nan], dtype))) == [True, False]


def test_either_part_of_a_complex_number_may_be_infinite() -> None:
    parts = np.array([complex(1, np.inf), complex(np.nan, 1), 3 + 4j])
    assert list(is_finite(parts)) == [False, False, True]
    assert magnitude(parts)[2] == 5.0
    np.testing.assert_array_equal(from_channels(channels(parts)), parts)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int64, "U1"])
def test_scalars_and_nothing(dtype: object) -> None:
    for shape in ((), (0,), (2, 0)):
        array = np.zeros(shape).astype(dtype)  # type: ignore[call-overload]
        assert distance(array, array).shape == magnitude(array).shape == is_finite(array).shape == shape
