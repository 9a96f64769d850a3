from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.operators.functions import named_activations
from tensorparity.operators.reference.rounding import K, error_units, exact
from tensorparity.operators.spec import Evaluation, ShapeError

POINTS = np.array([-8.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 7.0])

# Written out by hand, one value at a time, independently of the vectorised table.
BY_HAND = {
    "relu": lambda x: max(x, 0.0),
    "relu6": lambda x: min(max(x, 0.0), 6.0),
    "leaky_relu": lambda x: x if x > 0 else 0.2 * x,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "softsign": lambda x: x / (1 + abs(x)),
    "elu": lambda x: x if x > 0 else math.exp(x) - 1,
    "selu": lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * (math.exp(x) - 1)),
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "swish": lambda x: x / (1 + math.exp(-x)),
    "exponential": math.exp,
    "hard_sigmoid": lambda x: min(max(x / 6 + 0.5, 0.0), 1.0),
    "linear": lambda x: x,
    "celu": lambda x: x if x > 0 else math.exp(x) - 1,
    "hard_shrink": lambda x: x if abs(x) > 0.5 else 0.0,
    "hard_silu": lambda x: 0.0 if x < -3 else x if x > 3 else x * (x + 3) / 6,
    "hard_swish": lambda x: 0.0 if x < -3 else x if x > 3 else x * (x + 3) / 6,
    "hard_tanh": lambda x: max(-1.0, min(1.0, x)),
    "log_sigmoid": lambda x: math.log(1 / (1 + math.exp(-x))),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "soft_shrink": lambda x: x - 0.5 if x > 0.5 else x + 0.5 if x < -0.5 else 0.0,
    "sparse_plus": lambda x: 0.0 if x <= -1 else x if x >= 1 else (x + 1) ** 2 / 4,
    "sparse_sigmoid": lambda x: 0.0 if x <= -1 else 1.0 if x >= 1 else (x + 1) / 2,
    "squareplus": lambda x: (x + math.sqrt(x * x + 4)) / 2,
    "tanh_shrink": lambda x: x - math.tanh(x),
}


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_values(name):
    found = named_activations.apply(name, exact(POINTS)).value
    np.testing.assert_allclose(found, [BY_HAND[name](x) for x in POINTS], rtol=1e-12, atol=1e-14)


def test_softmax_and_log_softmax_by_hand():
    x = np.array([[0.0, math.log(3.0)]])
    np.testing.assert_allclose(named_activations.apply("softmax", exact(x)).value, [[0.25, 0.75]])
    np.testing.assert_allclose(named_activations.apply("log_softmax", exact(x)).value, np.log([[0.25, 0.75]]))


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_only_the_largest_may_be_taken_out_of_exponents(shift):
    x = np.array([[0.0, 1500.0, 1500.0 + math.log(3.0)], [math.log(2.0), 0.0, -1500.0]]) + shift
    shares = [[0.0, 0.25, 0.75], [2 / 3, 1 / 3, 0.0]]
    np.testing.assert_allclose(named_activations.apply("softmax", exact(x)).value, shares, rtol=1e-10)
    logs = [
        [-1500.0 - math.log(4.0), -math.log(4.0), math.log(0.75)],
        [math.log(2 / 3), -math.log(3.0), -1500.0 - math.log(3.0)],
    ]
    np.testing.assert_allclose(named_activations.apply("log_softmax", exact(x)).value, logs, rtol=1e-10)
    both = named_activations.softmax(exact(x), (0, 1)).value
    np.testing.assert_allclose(both.ravel(), named_activations.softmax(exact(x.ravel())).value)


def test_sparsemax_by_hand():
    x = np.array([[1.0, 1.0, -9.0], [0.2, 0.5, 0.3], [5.0, 0.0, 1.0]])
    expected = [[0.5, 0.5, 0.0], [0.2, 0.5, 0.3], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(named_activations.apply("sparsemax", exact(x)).value, expected, atol=1e-15)


def test_every_name_is_covered():
    assert set(BY_HAND) | {"softmax", "log_softmax", "sparsemax"} == {name for name in named_activations.NAMES if name}


@pytest.mark.parametrize("name", [name for name in named_activations.NAMES if name])
def test_kappa_is_finite_and_not_negative_also_far_out(name):
    x = np.linspace(-60, 60, 241)
    found = named_activations.apply(name, Evaluation(x, np.abs(x)))
    assert np.all(np.isfinite(found.kappa))
    assert np.all(found.kappa >= 0)


@pytest.mark.parametrize("name", [name for name in named_activations.NAMES if name])
def test_rounding_of_the_argument_is_covered(name):
    """f(x + rounding) in float32 stays below K, for an x that carries rounding: kinks included."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 3, (50, 8)), rng.normal(0, 1e-7, (50, 8)), rng.normal(3, 1e-6, (50, 8))])
    kappa = np.full_like(x, 5.0)
    moved = x + rng.uniform(-1, 1, x.shape) * 2.0**-24 * kappa
    actual = named_activations.apply(name, exact(moved)).value.astype(np.float32)
    assert error_units(actual, named_activations.apply(name, Evaluation(x, kappa)), "float32").max() < K


def test_a_wrong_function_is_far_above_k():
    truth = named_activations.apply("gelu", exact(POINTS))
    approximate = 0.5 * POINTS * (1 + np.tanh(math.sqrt(2 / math.pi) * (POINTS + 0.044715 * POINTS**3)))
    assert error_units(approximate.astype(np.float32), truth, "float32").max() > 100 * K


@pytest.mark.parametrize("name", named_activations.INVALID_NAMES)
def test_unknown_names_are_refused(name):
    with pytest.raises(ShapeError, match="`activation`.*Received: activation="):
        named_activations.apply(name, exact(POINTS))
