from __future__ import annotations

import numpy as np
import pytest

from tensorparity.operators.rounding import K, error_units, exact, growth
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
