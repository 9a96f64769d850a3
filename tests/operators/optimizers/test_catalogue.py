from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.core.procedure import Recipe
from tensorparity.operators.optimizers.catalogue import OPTIMIZERS, evaluate_step, optimizer

W, G = np.array([1.0, -1.0]), np.array([0.5, -2.0])


def step(name, *, state=None, number=1, **params):
    return evaluate_step(Recipe(name, params), W, G, state, number)


def test_sgd_by_hand():
    np.testing.assert_allclose(step("SGD", learning_rate=0.1).weight.value, [0.95, -0.8])


def test_momentum_by_hand():
    first = step("SGD", learning_rate=0.1, momentum=0.5)
    np.testing.assert_allclose(first.weight.value, [0.95, -0.8])
    np.testing.assert_allclose(first.state["momentum"], [-0.05, 0.2])
    second = step("SGD", learning_rate=0.1, momentum=0.5, state=first.state, number=2)
    np.testing.assert_allclose(second.weight.value, W + 0.5 * first.state["momentum"] - 0.1 * G)


def test_nesterov_looks_ahead():
    found = step("SGD", learning_rate=0.1, momentum=0.5, nesterov=True)
    np.testing.assert_allclose(found.weight.value, W - 1.5 * 0.1 * G)


def test_the_first_step_of_adam_is_the_learning_rate():
    np.testing.assert_allclose(step("Adam", epsilon=0.0).weight.value, W - 0.001 * np.sign(G))


def test_adam_by_hand_in_its_second_step():
    first = step("Adam", beta_1=0.5, beta_2=0.5, epsilon=0.0, learning_rate=0.1)
    second = step("Adam", beta_1=0.5, beta_2=0.5, epsilon=0.0, learning_rate=0.1, state=first.state, number=2)
    np.testing.assert_allclose(second.weight.value, W - 0.1 * np.sign(G))
    np.testing.assert_allclose(second.state["momentum"], 0.75 * G)


def test_amsgrad_never_forgets_the_largest():
    big = {"velocity_hat": np.full(2, 1e6)}
    found = step("Adam", amsgrad=True, state=big)
    assert np.all(np.abs(found.weight.value - W) < 1e-5)
    np.testing.assert_array_equal(found.state["velocity_hat"], big["velocity_hat"])


def test_unknown_optimizer():
    with pytest.raises(UsageError, match="unknown optimizer 'NoSuchOptimizer'"):
        optimizer("NoSuchOptimizer")


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_declaration(name):
    assert OPTIMIZERS[name].api == f"keras.optimizers.{name}"
    assert all(p.required or p.default in p.valid for p in OPTIMIZERS[name].parameters)
