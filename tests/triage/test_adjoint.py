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


def test_slopes_are_the_derivatives_on_paper():
    found = slopes(matmul, [X, W], G, np.random.default_rng(1))
    assert len(found) == 3
    for slope in found:
        dx, dw = slope.direction
        terms = G * (1 - np.tanh(X @ W) ** 2) * (dx @ W + X @ dw)
        assert slope.value == pytest.approx(terms.sum(), rel=1e-6, abs=1e-9)
        assert slope.scale >= np.abs(terms).sum()
    assert gradient_error(found, gradients(), 2.0**-24) < 0.1


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_directions_move_each_array_by_its_own_scale(scale):
    def double(arrays):
        return Evaluation(2.0 * arrays[0] + arrays[1].sum(), np.zeros(arrays[0].shape))

    at = [scale * np.array([0.5, -2.0]), np.zeros(3)]
    for seed in range(5):
        found = slopes(double, at, np.ones(2), np.random.default_rng(seed))
        drawn = np.random.default_rng(seed)
        for slope in found:
            np.testing.assert_allclose(slope.direction[0], drawn.standard_normal(2) * 2.0 * scale)
            np.testing.assert_allclose(slope.direction[1], drawn.standard_normal(3))
            expected = 2.0 * slope.direction[0].sum() + 2.0 * slope.direction[1].sum()
            assert slope.value == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3])
def test_kinks_are_seen_at_any_scale(scale):
    def relu(arrays):
        return Evaluation(np.maximum(arrays[0], 0.0), np.zeros(arrays[0].shape))

    smooth, kink = scale * np.array([1.0, -0.5]), scale * np.array([1.0, 0.0])
    assert slopes(relu, [kink], np.ones(2), np.random.default_rng(0)) is None
    found = slopes(relu, [smooth], np.ones(2), np.random.default_rng(0))
    assert [slope.value for slope in found] == pytest.approx([slope.direction[0][0] for slope in found])
    assert gradient_error(found, [np.array([1.0, 0.0])], 2.0**-24) < 0.1
    assert gradient_error(found, [np.array([1.0, 1.0])], 2.0**-24) > 10.0


def test_not_finite_on_the_way_is_no_slope():
    def root(arrays):
        return Evaluation(np.sqrt(arrays[0]), np.zeros(arrays[0].shape))

    assert slopes(root, [np.array([0.0, 1.0])], np.ones(2), np.random.default_rng(0)) is None


def test_what_cancels_in_the_outputs_widens_the_scale():
    def twice(kappa):
        return lambda arrays: Evaluation(2.0 * arrays[0], np.full(arrays[0].shape, kappa))

    cotangent = np.array([1.0, -3.0])
    tight, wide = (
        slopes(twice(kappa), [np.ones(2)], cotangent, np.random.default_rng(0))[0].scale for kappa in (0.0, 5.0)
    )
    assert wide - tight == pytest.approx(20.0)


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
