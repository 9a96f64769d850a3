"""Errors per input, in every measure."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.tolerance import Tolerance
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.reference.rounding import K
from tensorparity.operators.spec import Evaluation
from tensorparity.oracles.measure.operator_errors import measure_instances, measure_rows, precise_units, spacing_at


def test_one_ulp() -> None:
    truth = Evaluation(np.array([[1.0, 2.0], [4.0, 8.0]]), np.zeros((2, 2)))
    y = truth.value.astype(np.float32)
    y[1, 0] = np.nextafter(y[1, 0], np.float32(9))
    errors = measure_rows(y, truth, "float32")
    assert errors.ulps.tolist() == [0.0, 1.0]
    assert errors.place.tolist() == [0, 0]
    assert errors.absolute[1] == 2.0**-21
    assert errors.relative[1] == 2.0**-23
    assert errors.units[1] == pytest.approx(2.0)  # an ulp at the foot of a binade is two units of roundoff


def test_relative_error_decides_near_zero() -> None:
    """An absolute tolerance of 1e-6 would pass it."""
    sigmoid = OPERATORS.get("sigmoid")
    x = np.array([[-20.0]])
    errors = measure_rows(np.zeros((1, 1), np.float32), sigmoid.evaluate({}, [x]), "float32")
    assert errors.absolute[0] < 1e-8
    assert errors.units[0] > 1e5 > K


@pytest.mark.parametrize(("value", "unit"), [(1.0, 2.0**-10), (0.9, 2.0**-11), (0.0, 2.0**-24), (1e-7, 2.0**-24)])
def test_spacing_of_float16(value: float, unit: float) -> None:
    assert spacing_at(np.array([value]), "float16")[0] == unit


def test_fifty_digits_tell_a_wrong_float64_from_a_right_one() -> None:
    expm1 = OPERATORS.get("expm1")
    x = np.array([[1e-10]])
    assert precise_units(expm1, {}, [x], np.expm1(x), "float64") < 2
    assert precise_units(expm1, {}, [x], np.exp(x) - 1, "float64") > K


def test_instances() -> None:
    wide = np.array([[1.0, 2.0], [3.0, 4.0]])
    errors = measure_instances(np.array([[1.5, 2.0], [3.0, 3.0]], np.float16), wide)
    assert errors.linf.tolist() == [0.5, 1.0]
    assert errors.l1.tolist() == [0.5, 1.0]
    assert errors.mean.tolist() == [0.25, 0.5]
    broken = measure_instances(np.array([[np.nan, 2.5], [np.inf, np.nan]], np.float16), wide)
    assert (broken.linf[0], broken.l1[0], broken.mean[0]) == (0.5, 0.5, 0.5), "what is a number is measured"
    assert np.isnan([broken.linf[1], broken.l1[1], broken.mean[1]]).all()
    assert broken.overflows.tolist() == [True, True]


def test_equal_infinities_are_no_difference() -> None:
    truth = Evaluation(np.array([[np.inf, 1.0]]), np.zeros((1, 2)))
    errors = measure_rows(np.array([[np.inf, 1.0]], np.float32), truth, "float32")
    assert (errors.units[0], errors.absolute[0], errors.ulps[0]) == (0.0, 0.0, 0.0)
    wrong = measure_rows(np.array([[3.0, 1.0]], np.float32), truth, "float32")
    assert wrong.units[0] == np.inf


def test_the_l1_error_is_the_sum_and_the_linf_error_the_largest() -> None:
    errors = measure_instances(np.array([[1.25, 2.5]]), np.array([[1.0, 2.0]]))
    assert (errors.l1.tolist(), errors.linf.tolist(), errors.mean.tolist()) == ([0.75], [0.5], [0.375])


def test_equal_infinities_are_no_overflow() -> None:
    both = measure_instances(np.array([[np.inf, 1.0]], np.float16), np.array([[np.inf, 1.0]]))
    assert (both.overflows.tolist(), both.linf.tolist()) == ([False], [0.0])


def test_the_librarys_own_rule_is_relative_and_absolute() -> None:
    wide = np.array([[1000.0, 0.0]])
    # 1 + 0.01 are allowed of a thousand, and 0.01 of zero
    errors = measure_instances(np.array([[1000.505, 0.005]]), wide, Tolerance(1e-3, 1e-2, "somebody's"))
    assert errors.allowed.tolist() == pytest.approx([0.5], rel=1e-6)
    assert measure_instances(np.array([[1000.0, 0.02]]), wide, Tolerance(1e-3, 1e-2, "")).allowed[0] == pytest.approx(2)
