"""Functions of one and of two numbers, and losses: each formula written out again, one number at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from tensorparity.operators.functions.catalogue import _FAMILIES, OPERATORS
from tensorparity.operators.reference.digits import PRECISE
from tensorparity.operators.reference.numbers import FLOAT

MODERATE = (-30.0, -7.5, -3.2, -3.0, -1.0, -0.7, -0.5, -1e-3, 0.0, 1e-3, 0.4, 0.5, 1.0, 2.0, 3.0, 5.9, 6.5, 20.0)
POSITIVE = (1e-12, 1e-3, 0.25, 0.5, 1.0, 1.5, 2.0, 10.0, 123.0)
UNIT = (-1.0, -0.999, -0.5, -0.1, 0.0, 1e-9, 0.3, 0.5, 0.9, 1.0)
INSIDE = (-0.999, -0.5, -0.1, 0.0, 1e-9, 0.3, 0.5, 0.9)
FAR = (-40.0, -2.0, 0.0, 1.0, 29.5, 30.5, 1e4)
TAILS = (-300.0, -30.0, -20.5, -19.5, -10.0, -1.0, 0.0, 0.5, 5.0, 9.0)
CHANCES = (1e-9, 1e-3, 0.1, 0.3, 0.5, 0.75, 0.999)

Scalar = Callable[[float], float]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def softplus(x: float) -> float:
    return float(mpmath.log1p(mpmath.exp(mpmath.mpf(x))))


def elu(x: float, alpha: float = 1.0) -> float:
    return x if x > 0 else alpha * math.expm1(x)


def with_digits(function: Callable[[mpmath.mpf], mpmath.mpf]) -> Scalar:
    def found(x: float) -> float:
        with mpmath.workdps(60):
            return float(function(mpmath.mpf(x)))

    return found


UNARY: dict[str, tuple[Scalar, tuple[float, ...]]] = {
    "exp": (math.exp, MODERATE),
    "exp2": (lambda x: 2.0**x, MODERATE),
    "expm1": (math.expm1, MODERATE),
    "log": (math.log, POSITIVE),
    "log2": (math.log2, POSITIVE),
    "log10": (math.log10, POSITIVE),
    "log1p": (math.log1p, (-0.9, *POSITIVE)),
    "sqrt": (math.sqrt, POSITIVE),
    "rsqrt": (lambda x: x**-0.5, POSITIVE),
    "reciprocal": (lambda x: x**-1, (-3.0, *POSITIVE)),
    "square": (lambda x: x**2, MODERATE),
    "abs": (math.fabs, MODERATE),
    "sin": (math.sin, MODERATE),
    "cos": (math.cos, MODERATE),
    "tan": (math.tan, MODERATE),
    "asin": (math.asin, UNIT),
    "acos": (math.acos, UNIT),
    "atan": (math.atan, MODERATE),
    "sinh": (math.sinh, MODERATE),
    "cosh": (math.cosh, MODERATE),
    "tanh": (math.tanh, MODERATE),
    "asinh": (math.asinh, MODERATE),
    "acosh": (math.acosh, (1.0, 1.5, 100.0)),
    "atanh": (math.atanh, INSIDE),
}

ACTIVATIONS: dict[str, tuple[Scalar, tuple[float, ...]]] = {
    "relu": (lambda x: max(x, 0.0), MODERATE),
    "relu6": (lambda x: min(max(x, 0.0), 6.0), MODERATE),
    "leaky_relu": (lambda x: x if x > 0 else x / 4, MODERATE),
    "sigmoid": (sigmoid, (*MODERATE, -700.0, 700.0)),
    "log_sigmoid": (lambda x: -softplus(-x), (*MODERATE, -800.0, 800.0)),
    "softplus": (softplus, (*MODERATE, -700.0, 800.0)),
    "softsign": (lambda x: x / (1 + abs(x)), MODERATE),
    "elu": (elu, (*MODERATE, 800.0)),
    "selu": (lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772), MODERATE),
    "celu": (elu, MODERATE),
    "gelu": (with_digits(lambda x: x * mpmath.ncdf(x)), MODERATE),
    "gelu_tanh": (
        with_digits(
            lambda x: x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3)))
        ),
        MODERATE[1:-1],
    ),
    "silu": (lambda x: x * sigmoid(x), MODERATE),
    "mish": (with_digits(lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x)))), (*MODERATE, -700.0, 800.0)),
    "hard_sigmoid": (lambda x: min(max(x / 6 + 0.5, 0.0), 1.0), MODERATE),
    "hard_silu": (lambda x: x * min(max(x / 6 + 0.5, 0.0), 1.0), MODERATE),
    "hard_tanh": (lambda x: min(max(x, -1.0), 1.0), MODERATE),
    "tanh_shrink": (lambda x: x - math.tanh(x), MODERATE),
    "soft_shrink": (lambda x: math.copysign(max(abs(x) - 0.5, 0.0), x), MODERATE),
    "squareplus": (lambda x: (x + math.hypot(x, 2.0)) / 2, (-2.0, -0.5, 0.0, 1.0, 9.0)),
}

SPECIAL: dict[str, tuple[Scalar, tuple[float, ...]]] = {
    "erf": (math.erf, MODERATE),
    "erfc": (math.erfc, MODERATE[1:]),
    "erfinv": (with_digits(mpmath.erfinv), (*INSIDE, 1 - 1e-15, -1 + 1e-9)),
    "lgamma": (math.lgamma, (-2.5, -0.5, *POSITIVE)),
    "digamma": (with_digits(mpmath.digamma), (-7.25, -0.3, 1e-6, 0.49, 0.51, 1.0, 3.0, 9.5, 10.5, 250.0)),
    "i0": (with_digits(lambda x: mpmath.besseli(0, x)), (-2.0, 0.0, 0.5, 8.0, 29.0, 31.0, 300.0, 712.0)),
    "i1": (with_digits(lambda x: mpmath.besseli(1, x)), (-2.0, 0.0, 0.5, 8.0, 29.0, 31.0, 300.0, 712.0)),
    "i0e": (with_digits(lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x))), FAR),
    "i1e": (with_digits(lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x))), FAR),
    "ndtr": (with_digits(mpmath.ncdf), MODERATE),
    "log_ndtr": (with_digits(lambda x: mpmath.log(mpmath.ncdf(x))), TAILS),
    "ndtri": (
        with_digits(lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)),
        (1e-30, 1e-9, 1e-3, 0.1, 0.3, 0.5, 0.6, 0.75, 0.999, 1 - 1e-12),
    ),
    "entropy": (lambda x: -x * math.log(x), POSITIVE),
    "expit": (sigmoid, (*MODERATE, -700.0, 700.0)),
    "logit": (with_digits(lambda x: mpmath.log(x / (1 - x))), CHANCES),
    "sinc": (lambda x: math.sin(math.pi * x) / (math.pi * x) if x else 1.0, (-2.5, -0.3, 0.0, 0.2, 1.5, 7.25)),
}  # fmt: skip

BY_HAND = {**UNARY, **ACTIVATIONS, **SPECIAL}


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_functions_of_one_number(name: str) -> None:
    function, points = BY_HAND[name]
    found = OPERATORS.get(name).evaluate({}, [np.array([points])]).value[0]
    expected = [function(x) for x in points]
    cancelling = 1e-15 if name in ("tanh_shrink", "squareplus", "lgamma", "digamma", "logit") else 0.0
    np.testing.assert_allclose(found, expected, rtol=2e-13, atol=cancelling)


def test_every_function_of_one_number_is_there() -> None:
    expected = {"softmax", "log_softmax", "prelu"} | set(BY_HAND)
    assert {name for family in ("unary", "activations", "special") for name in _FAMILIES[family].split()} == expected


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("erfinv", [-1.0, 1.0, 1.5], [-np.inf, np.inf, np.nan]),
        ("digamma", [0.0, -1.0, -2.0], [np.nan] * 3),
        ("lgamma", [0.0, -1.0, -2.0], [np.inf] * 3),
        ("i0e", [np.inf, -np.inf, np.nan], [0.0, 0.0, np.nan]),
        ("ndtri", [0.0, 1.0], [-np.inf, np.inf]),
        ("entropy", [0.0], [0.0]),
        ("lgamma", [1e308], [np.inf]),
        ("digamma", [1.5e308], [np.log(1.5e308)]),
    ],
)
def test_poles_and_ends(name: str, x: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(OPERATORS.get(name).evaluate({}, [np.array([x])]).value, [expected], rtol=1e-14)


PAIRS: dict[str, Callable[[float, float], float]] = {
    "divide": lambda a, b: a / b,
    "pow": math.pow,
    "atan2": math.atan2,
    "hypot": math.hypot,
    "logaddexp": lambda a, b: float(mpmath.log(mpmath.exp(mpmath.mpf(a)) + mpmath.exp(mpmath.mpf(b)))),
    "xlogy": lambda a, b: a * math.log(b),
    "xlog1py": lambda a, b: a * math.log1p(b),
    "squared_difference": lambda a, b: a * a - 2 * a * b + b * b,
}
AB = (np.array([[0.5, 2.0, 3.0, 1.0, 700.0]]), np.array([[3.0, 0.25, 2.0, 5.0, 0.5]]))


@pytest.mark.parametrize("name", _FAMILIES["binary"].split())
def test_functions_of_two_numbers(name: str) -> None:
    found = OPERATORS.get(name).evaluate({}, AB).value[0]
    np.testing.assert_allclose(found, [PAIRS[name](a, b) for a, b in zip(*map(np.ravel, AB), strict=True)], rtol=1e-14)


def test_functions_of_two_numbers_at_zero() -> None:
    def value(name: str, a: float, b: float) -> float:
        return float(OPERATORS.get(name).evaluate({}, [np.array([[a]]), np.array([[b]])]).value[0, 0])

    assert value("xlogy", 0.0, 0.0) == value("xlog1py", 0.0, -1.0) == value("hypot", 0.0, 0.0) == 0.0
    assert value("hypot", -3.0, 4.0) == value("hypot", 4.0, -3.0) == 5.0
    assert value("hypot", 0.0, 4.0) == value("hypot", -4.0, 0.0) == 4.0
    assert value("hypot", 3e200, 4e200) == pytest.approx(5e200, rel=1e-15)
    assert value("logaddexp", 1000.0, 1000.0) == 1000.0 + math.log(2.0)
    assert value("atan2", -1.0, -1.0) == math.atan2(-1.0, -1.0)
    precise = OPERATORS.get("atan2").evaluate_precisely({}, [np.array([[1.0]]), np.array([[-2.0]])]).value[0, 0]
    assert float(precise) == math.atan2(1.0, -2.0)


def test_prelu_has_a_slope_per_channel() -> None:
    x = np.array([[[-1.0, -2.0], [3.0, 0.0]]])
    found = OPERATORS.get("prelu").evaluate({}, [x, np.array([0.5, -3.0])]).value
    assert found.tolist() == [[[-0.5, 6.0], [3.0, 0.0]]]
    assert OPERATORS.get("prelu").sizes({}, (4, 5, 3)) == {"x": (4, 5, 3), "slope": (3,)}


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_softmax_does_not_depend_on_a_shift(shift: float) -> None:
    x = np.array([[1.0, 3.0, -2.0], [0.0, 0.0, 1500.0]])
    powers = [[mpmath.exp(v) for v in row] for row in x]
    shares = np.array([[float(power / mpmath.fsum(row)) for power in row] for row in powers])
    np.testing.assert_allclose(OPERATORS.get("softmax").evaluate({}, [x + shift]).value, shares, rtol=1e-12)
    logs = [[float(mpmath.log(mpmath.exp(v) / mpmath.fsum(map(mpmath.exp, row)))) for v in row] for row in x]
    np.testing.assert_allclose(OPERATORS.get("log_softmax").evaluate({}, [x + shift]).value, logs, rtol=1e-12)


# Losses

LOSSES: dict[str, Callable[[float, float], float]] = {
    "bce_with_logits": lambda y, t: t * softplus(-y) + (1 - t) * softplus(y),
    "huber": lambda y, t: (y - t) ** 2 / 2 if abs(y - t) <= 1 else abs(y - t) - 0.5,
    "smooth_l1": lambda y, t: (y - t) ** 2 / 2 if abs(y - t) <= 1 else abs(y - t) - 0.5,
    "kl_div": lambda y, t: t * math.log(t) - t * y if t else 0.0,
    "poisson_nll": lambda y, t: math.exp(y) - t * y,
    "mse": lambda y, t: (y - t) ** 2,
    "soft_margin": lambda y, t: softplus(-t * y),
    "bce": lambda y, t: -(t * math.log(y) + (1 - t) * math.log1p(-y)),
}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_number_by_number(name: str) -> None:
    targets = np.array([[0.25, 1.0, 0.0, 0.75]])
    guesses = np.array([[0.5, 0.1, 0.9, 0.3]]) if name == "bce" else np.array([[0.5, -3.0, 2.5, 40.0]])
    found = OPERATORS.get(name).evaluate({}, [guesses, targets]).value[0]
    expected = [LOSSES[name](y, t) for y, t in zip(guesses[0], targets[0], strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_cross_entropy(shift: float) -> None:
    y, t = np.array([[1.0, 3.0, -2.0], [0.0, 1.0, 1500.0]]), np.array([[0.25, 0.5, 0.125], [0.25, 0.5, 0.25]])
    expected = []
    for row, weights in zip(y, t, strict=True):
        total = mpmath.fsum(map(mpmath.exp, row))
        expected.append(
            float(-mpmath.fsum(w * mpmath.log(mpmath.exp(v) / total) for v, w in zip(row, weights, strict=True)))
        )
    found = OPERATORS.get("cross_entropy_with_logits").evaluate({}, [y + shift, t]).value
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_every_pair_and_loss_is_there() -> None:
    assert set(PAIRS) == set(_FAMILIES["binary"].split())
    assert {*LOSSES, "cross_entropy_with_logits"} == set(_FAMILIES["losses"].split())


# The two kinds of numbers


@pytest.mark.parametrize("name", sorted(set(UNARY) & set(FLOAT._functions) | set(SPECIAL) & set(FLOAT._functions)))
def test_the_functions_of_both_kinds_of_numbers_agree(name: str) -> None:
    points = np.array(BY_HAND[name][1])
    with np.errstate(all="ignore"):
        found = getattr(FLOAT, name)(points)
    precise = np.array([float(value) for value in getattr(PRECISE, name)(PRECISE.array(points))])
    np.testing.assert_allclose(found, precise, rtol=2e-13, atol=1e-15)


def test_fifty_digits() -> None:
    with mpmath.workdps(60):
        third = PRECISE.reciprocal(PRECISE.array(np.array([3.0])))[0]
        assert abs(third - mpmath.mpf(1) / 3) < mpmath.mpf(10) ** -50
        assert abs(PRECISE.pi() - mpmath.pi) < mpmath.mpf(10) ** -49
        assert PRECISE.round(PRECISE.array(np.array([2.5])))[0] == 2
        assert abs(PRECISE.square(PRECISE.array(np.array([0.1])))[0] - mpmath.mpf(0.1) ** 2) < mpmath.mpf(10) ** -50
    far = np.array([1e-300, 0.0, 2.0**-20])
    lowest, end, inner = PRECISE.ndtri(PRECISE.array(far))
    with mpmath.workdps(60):
        assert abs(mpmath.erfc(-lowest / mpmath.sqrt(2)) / 2 / mpmath.mpf(1e-300) - 1) < mpmath.mpf(10) ** -40
        assert abs(mpmath.ncdf(inner) * 2**20 - 1) < mpmath.mpf(10) ** -45
    assert end == -mpmath.inf
    assert PRECISE.lgamma(PRECISE.array(np.array([-3.0])))[0] == mpmath.inf
    assert PRECISE.log(PRECISE.array(np.array([-1.0])))[0] != PRECISE.log(PRECISE.array(np.array([-1.0])))[0]  # NaN
    assert PRECISE.reciprocal(PRECISE.array(np.array([0.0])))[0] == mpmath.inf
