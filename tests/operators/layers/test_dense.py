from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import ShapeError

DENSE = layer("Dense")


def test_value_by_hand():
    weights = {"d/kernel": np.array([[1.0, 2.0], [3.0, 4.0]]), "d/bias": np.array([0.5, -20.0])}
    node = Node("d", "Dense", (Ref("x"),), {"units": 2, "activation": "relu"})
    (found,) = evaluate_node(node, [np.array([[1.0, 1.0]])], weights)
    np.testing.assert_array_equal(found.value, [[4.5, 0.0]])


def test_shape_keeps_leading_axes():
    assert DENSE.shape(DENSE.complete({"units": 3}), [(None, 5, 7)]) == ((None, 5, 3),)


def test_weights_follow_use_bias():
    params = DENSE.complete({"units": 3})
    assert [(name, w.shape) for name, w in DENSE.weights(params, [(2, 7)]).items()] == [
        ("kernel", (7, 3)),
        ("bias", (3,)),
    ]
    assert list(DENSE.weights({**params, "use_bias": False}, [(2, 7)])) == ["kernel"]


@pytest.mark.parametrize("units", [0, -1, 2.5, "3", None, True])
def test_bad_units_are_refused(units):
    with pytest.raises(ShapeError, match="`units`.*Received: units="):
        DENSE.shape(DENSE.complete({"units": units}), [(2, 3)])


def test_kappa_admits_float32_and_convicts_a_lost_term():
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(4, 2000)).astype(np.float32), rng.normal(size=(2000, 8)).astype(np.float32)
    node = Node("d", "Dense", (Ref("x"),), {"units": 8, "use_bias": False})
    (truth,) = evaluate_node(node, [x], {"d/kernel": kernel})
    sequential = np.zeros((4, 8), np.float32)
    for index in range(2000):
        sequential += x[:, index : index + 1] * kernel[index]
    assert error_units(sequential, truth, "float32").max() < K
    assert error_units(x[:, 1:] @ kernel[1:], truth, "float32").max() > 10 * K
