"""The dot-product test knows right gradients from wrong ones, and leaves kinks alone."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.spec import Evaluation
from tensorparity.triage.adjoint import gradient_error, slopes
from tensorparity.triage.diagnose import blame
from tensorparity.triage.trials import KINK, judge_gradients

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))
W = RNG.normal(size=(4, 2))
G = RNG.normal(size=(3, 2))


def matmul(arrays):
    value = np.tanh(arrays[0] @ arrays[1])
    return Evaluation(value, np.abs(arrays[0]) @ np.abs(arrays[1]))


def gradients(scale=1.0):
    behind = G * (1 - np.tanh(X @ W) ** 2) * scale
    return [(behind @ W.T).astype(np.float32), (X.T @ behind).astype(np.float32)]


def test_the_true_gradient_passes_and_a_per_cent_fails():
    found = slopes(matmul, [X, W], G, np.random.default_rng(1))
    assert gradient_error(found, gradients(), 2.0**-24) < 1.0
    assert gradient_error(found, gradients(1.01), 2.0**-24) > 1.0


def test_a_gradient_that_is_missing_counts_as_zero():
    found = slopes(matmul, [X, W], G, np.random.default_rng(1))
    assert gradient_error(found, [gradients()[0], None], 2.0**-24) > 1.0


def test_a_kink_is_no_place_to_measure():
    zero = np.zeros((2, 3))

    def relu(arrays):
        return Evaluation(np.maximum(arrays[0], 0.0), zero)

    assert slopes(relu, [zero], np.ones((2, 3)), np.random.default_rng(0)) is None


def relu(values):
    return Node("relu", "ReLU", (Ref("x0"),)), [np.asarray(values, np.float32)]


def judged(values, **answers):
    node, given = relu(values)
    cotangent = np.ones(given[0].shape, np.float32)
    named = {target: {"input:relu#0/0": np.asarray(array, np.float32)} for target, array in answers.items()}
    return judge_gradients(node, given, {}, cotangent, False, named)


def test_one_target_alone_is_convicted_without_a_vote():
    errors = judged([[1.0, -1.0]], right=[[1.0, 0.0]], wrong=[[1.0, 1.0]])
    assert blame(errors, {})[1] == ("wrong",)


def test_at_zero_relu_may_have_any_slope_between():
    errors = judged([[0.0, 1.0]], one=[[0.0, 1.0]], other=[[1.0, 1.0]])
    assert errors.judged_by == KINK
    assert blame(errors, {}) == (None, ())


def test_what_cancels_in_the_formula_may_cancel_in_its_gradient():
    node = Node("norm", "LayerNormalization", (Ref("x0"),), {"epsilon": 1e-5, "center": False, "scale": False})
    given = [np.array([[0.0], [0.1]], np.float32)]  # of one number, the deviation from the mean is nothing
    noise = {"one": {"input:norm#0/0": np.array([[0.0], [0.0]], np.float32)}}
    noise["other"] = {"input:norm#0/0": np.array([[3e-5], [-2e-5]], np.float32)}
    errors = judge_gradients(node, given, {}, np.ones((2, 1), np.float32), False, noise)
    assert blame(errors, {}) == (None, ())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_wrong(bad):
    errors = judged([[1.0, -1.0]], right=[[1.0, 0.0]], wrong=[[bad, 0.0]])
    assert blame(errors, {})[1] == ("wrong",)
