from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.arrays import dtype_named, unit_roundoff
from tensorparity.operators.reference.rounding import K, error_units, exact, growth
from tensorparity.operators.spec import Evaluation


def test_growth_is_one_for_few_terms_and_slow_for_many():
    assert growth(1) == growth(4) == 1.0
    assert growth(10_000) == 50.0


@pytest.mark.parametrize("terms", [10, 1_000, 100_000])
def test_a_sequential_float32_sum_stays_far_below_k(terms):
    values = np.random.default_rng(terms).uniform(0, 1, terms).astype(np.float32)
    total = np.cumsum(values, dtype=np.float32)[-1:]
    truth = Evaluation(
        np.array([values.astype(np.float64).sum()]), growth(terms) * np.abs(values).sum(dtype=np.float64)
    )
    assert error_units(total, truth, "float32").max() < K / 2


def test_error_is_measured_in_units_of_roundoff():
    truth = exact(np.array([1.0]))
    assert error_units(np.array([1.0 + 2.0**-22], np.float32), truth, "float32")[0] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("actual", "value", "expected"),
    [
        (np.nan, np.nan, 0.0),
        (np.inf, np.inf, 0.0),
        (np.inf, 1e39, 0.0),  # beyond float32
        (np.inf, 1.0, np.inf),
        (np.nan, 1.0, np.inf),
        (-np.inf, np.inf, np.inf),
        (-np.inf, 1e39, np.inf),
        (0.0, 0.0, 0.0),
        (1.0, np.nan, np.inf),
    ],
)
def test_values_that_are_not_numbers(actual, value, expected):
    assert error_units(np.array([actual], np.float32), exact(np.array([value])), "float32")[0] == expected


def test_flushing_a_subnormal_to_zero_is_no_error():
    assert error_units(np.zeros(1, np.float32), exact(np.array([1e-41])), "float32")[0] < 1
    assert error_units(np.zeros(1, np.float16), exact(np.array([1e-5])), "float16")[0] > K


def test_an_undefined_kappa_hides_nothing():
    assert error_units(np.array([5.0], np.float32), Evaluation(np.zeros(1), np.array([np.nan])), "float32")[0] > K


def test_both_parts_of_a_complex_number_are_measured_on_its_modulus():
    truth = exact(np.array([3 + 4j]))
    assert error_units(np.array([3 + 4j], np.complex64), truth, "complex64")[0] == 0
    assert error_units(np.array([3 - 4j], np.complex64), truth, "complex64")[0] > K
    off = np.array([3 + 4j * (1 + 2**-23)], np.complex64)
    assert 0 < error_units(off, truth, "complex64")[0] < K
    assert error_units(np.array([complex(3, np.nan)], np.complex64), truth, "complex64")[0] == np.inf


@pytest.mark.parametrize(
    ("actual", "value"),
    [
        (np.array([2**60 + 1]), np.array([2**60])),
        (np.array([2**52 + 1]), np.array([2.0**52])),
        (np.array([True]), np.array([False])),
        (np.array(["a"]), np.array(["b"])),
    ],
    ids=["beyond 2**53", "below 2**53, as float64", "bool", "string"],
)
def test_what_is_exact_is_equal_or_far_beyond_k(actual, value):
    dtype = "string" if actual.dtype.kind == "U" else actual.dtype.name
    kappa = np.array([2.0**60 if value.dtype.kind == "i" else 0.0])
    units = error_units(actual, Evaluation(value, kappa), dtype)
    assert 1000 * K < units[0] < np.inf  # finite: it is no NaN
    assert error_units(value, Evaluation(value, kappa), dtype)[0] == 0


def test_a_true_value_in_float64_has_roundings_of_its_own_beyond_2_to_the_53():
    assert error_units(np.array([2**60 + 100]), exact(np.array([2.0**60])), "int64")[0] < K


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_measured_in_their_own_roundoff(dtype):
    actual = np.array([1.0]).astype(dtype_named(dtype))
    assert error_units(actual, exact(np.array([1.0 + unit_roundoff(dtype)])), dtype)[0] == pytest.approx(1.0, rel=0.01)
    assert error_units(actual, exact(np.array([2.0])), dtype)[0] > K
