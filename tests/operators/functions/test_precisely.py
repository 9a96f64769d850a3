"""Arithmetic of 50 digits, in every step of a reference, and at the ends of every domain."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.functions.spec import Operator
from tensorparity.operators.reference.digits import MP, PRECISE

FAMILIES = ("unary", "activations", "special")
ELEMENTWISE = [
    operator
    for operator in map(OPERATORS.get, OPERATORS.names())
    if len(operator.operands) == 1 and not operator.parameters and operator.family in FAMILIES
]


def _ends(operator: Operator) -> np.ndarray:
    (operand,) = operator.operands
    wanted = [*operand.points, operand.low, operand.high, 0.0, 1.0, -1.0, 0.5]
    inside = {float(x) for x in wanted if np.isfinite(x) and operand.low <= x <= operand.high}
    return np.array(sorted(inside - set(operand.without)))


def test_every_family_is_there_in_numbers() -> None:
    counts = Counter(operator.family for operator in ELEMENTWISE)
    assert set(counts) == set(FAMILIES)
    assert min(counts.values()) >= 15


@pytest.mark.parametrize("operator", ELEMENTWISE, ids=lambda operator: operator.name)
def test_a_reference_has_a_value_wherever_its_domain_ends(operator: Operator) -> None:
    x = _ends(operator)
    precise = operator.evaluate_precisely({}, [x])
    with np.errstate(all="ignore"):
        plain = operator.evaluate({}, [x])
    found = np.array([float(value) for value in np.ravel(precise.value)])
    assert np.allclose(found, np.ravel(plain.value), rtol=1e-9, atol=1e-12, equal_nan=True)
    assert all(float(slack) >= 0 or np.isnan(float(slack)) for slack in np.ravel(precise.kappa))


def test_arithmetic_between_functions_has_the_digits_too() -> None:
    x = PRECISE.array(np.array([1.0]))
    tiny = MP.mpf(10) ** -40
    assert ((x + tiny) - x)[0] == pytest.approx(tiny, rel=1e-9)


@pytest.mark.parametrize(("above", "expected"), [(1.0, np.inf), (-2.0, -np.inf), (0.0, np.nan)])
def test_dividing_by_zero_is_as_in_floats(above: float, expected: float) -> None:
    zero, number = PRECISE.array(np.array([0.0])), PRECISE.array(np.array([above]))
    for quotient in (number / zero, above / zero):
        assert np.array_equal(np.array([float(quotient[0])]), [expected], equal_nan=True)


@pytest.mark.parametrize("x", [1e-3, 1.0, 5.0, 14.0, 20.0, 37.0])
def test_the_log_of_what_is_nearly_one_keeps_its_digits(x: float) -> None:
    operator = OPERATORS.get("log_ndtr")
    found = float(operator.evaluate_precisely({}, [np.array([x])]).value[0])
    assert found == pytest.approx(math.log1p(-math.erfc(x / math.sqrt(2)) / 2), rel=1e-12, abs=0.0)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (0.0, 2.0), (0.0, -1.0), (3.0, 0.0), (1.0, -5.0), (2.0, 0.5)])
def test_powers_of_zero_and_zeroth_powers(a: float, b: float) -> None:
    operator, arrays = OPERATORS.get("pow"), [np.array([a]), np.array([b])]
    with np.errstate(all="ignore"):
        expected = operator.evaluate({}, arrays)
    precise = operator.evaluate_precisely({}, arrays)
    assert float(precise.value[0]) == pytest.approx(expected.value[0])
    if b == 0:
        assert (expected.kappa[0], float(precise.kappa[0])) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["squared_difference", "huber"])
def test_a_bound_beyond_the_range_is_infinite_and_no_nan(name: str) -> None:
    far = 1e308 if name == "huber" else 1e200
    evaluation = OPERATORS.get(name).evaluate({}, [np.array([[far]]), np.array([[-far]])])
    assert evaluation.kappa[0, 0] == np.inf


def test_the_series_of_the_far_tail_has_all_digits() -> None:
    x = MP.mpf(-1.1e7)
    found = PRECISE.log_ndtr(np.array([x], dtype=object))[0]
    directly = MP.log(MP.erfc(-x / MP.sqrt(2)) / 2)
    assert abs(found / directly - 1) < MP.mpf(10) ** -45


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("erfc", 1e200, 0.0),
        ("erfc", -1e200, 2.0),
        ("erfc", np.nan, np.nan),
        ("log_ndtr", -1e100, -5e199),
        ("log_ndtr", 1e200, 0.0),
        ("log_ndtr", -np.inf, -np.inf),
        ("i0", -np.inf, np.inf),
        ("i1", -np.inf, -np.inf),
        ("i1e", np.inf, 0.0),
        ("ndtri", 0.0, -np.inf),
        ("ndtri", 1.0, np.inf),
        ("ndtri", 2.0, np.nan),
    ],
)
def test_limits_far_out(name: str, x: float, expected: float) -> None:
    found = float(getattr(PRECISE, name)(PRECISE.array(np.array([x])))[0])
    assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("order", [0, 1])
def test_bessel_functions_of_large_numbers_are_the_library_s(order: int) -> None:
    """Beyond a thousand by their expansion, because mpmath does not come back from 1e300."""
    for x in (-1001.0, 1500.25, 4000.0):
        (scaled,) = getattr(PRECISE, f"i{order}e")(PRECISE.array(np.array([x])))
        expected = MP.besseli(order, MP.mpf(x)) * MP.exp(-abs(MP.mpf(x)))
        assert abs(scaled / expected - 1) < MP.mpf(10) ** -48
    (far,) = getattr(PRECISE, f"i{order}e")(PRECISE.array(np.array([1e300])))
    assert abs(far * MP.sqrt(2 * MP.pi * MP.mpf(1e300)) - 1) < MP.mpf(10) ** -40


def test_a_largest_number_is_exact_where_it_is_infinite() -> None:
    found = OPERATORS.get("max").evaluate({}, [np.array([[1.0, np.inf, 2.0]])])
    assert found.kappa.tolist() == [0.0]
