from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import ShapeError


def run(op, params, x, **weights):
    node = Node("n", op, (Ref("x"),), params)
    return evaluate_node(node, [x], {f"n/{name}": np.asarray(value) for name, value in weights.items()})[0]


def test_batch_normalization_by_hand():
    found = run(
        "BatchNormalization",
        {"epsilon": 1.0},
        np.array([[5.0, 1.0]]),
        gamma=[2.0, 1.0],
        beta=[1.0, 0.0],
        moving_mean=[1.0, 1.0],
        moving_variance=[3.0, 0.0],
    )
    np.testing.assert_array_equal(found.value, [[5.0, 0.0]])
    np.testing.assert_array_equal(found.kappa, [[5.0 + 1.0 + 1.0, 2.0]])


def test_batch_normalization_along_another_axis():
    found = run(
        "BatchNormalization",
        {"axis": 1, "epsilon": 0.0, "center": False, "scale": False},
        np.ones((1, 2, 3)),
        moving_mean=[0.0, 1.0],
        moving_variance=[4.0, 1.0],
    )
    np.testing.assert_array_equal(found.value, [[[0.5] * 3, [0.0] * 3]])


def test_weights_in_the_order_of_the_layer():
    spec = layer("BatchNormalization")
    weights = spec.weights(spec.complete({}), [(None, 4)])
    assert list(weights) == ["gamma", "beta", "moving_mean", "moving_variance"]
    assert [weight.trainable for weight in weights.values()] == [True, True, False, False]
    assert list(spec.weights(spec.complete({"scale": False}), [(None, 4)]))[0] == "beta"


def test_layer_normalization_by_hand():
    found = run("LayerNormalization", {"epsilon": 0.0}, np.array([[1.0, 3.0]]), gamma=[2.0, 2.0], beta=[0.0, 1.0])
    np.testing.assert_array_equal(found.value, [[-2.0, 3.0]])


def test_layer_normalization_over_two_axes():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    found = run("LayerNormalization", {"axis": [-1, -2], "epsilon": 0.0, "center": False, "scale": False}, x)
    np.testing.assert_allclose(found.value.mean(axis=(1, 2)), 0, atol=1e-12)
    np.testing.assert_allclose(found.value.var(axis=(1, 2)), 1)
    spec = layer("LayerNormalization")
    assert spec.weights(spec.complete({"axis": [-1, -2]}), [(2, 3, 4)])["gamma"].shape == (3, 4)


def test_the_stable_float32_variance_passes_where_the_cancelling_one_fails():
    rng = np.random.default_rng(1)
    x = (rng.normal(0, 1, (8, 64)) + 300).astype(np.float32)
    truth = run("LayerNormalization", {"epsilon": 1e-6, "center": False, "scale": False}, x)
    mean = x.mean(axis=1, keepdims=True)
    stable = (x - mean) / np.sqrt(np.square(x - mean).mean(axis=1, keepdims=True) + np.float32(1e-6))
    assert error_units(stable, truth, "float32").max() < K
    variance = np.square(x).mean(axis=1, keepdims=True) - np.square(mean)
    cancelling = (x - mean) / np.sqrt(np.maximum(variance, 0) + np.float32(1e-6))
    assert error_units(cancelling, truth, "float32").max() > K


@pytest.mark.parametrize("op", ["BatchNormalization", "LayerNormalization"])
@pytest.mark.parametrize("axis", [7, "channels", None])
def test_bad_axes_are_refused(op, axis):
    spec = layer(op)
    with pytest.raises(ShapeError, match="`axis`.*Received: axis="):
        spec.shape(spec.complete({"axis": axis}), [(2, 3)])
