from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.functions import named_activations
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import Evaluation, ShapeError

X = np.array([[-10.0, -2.0, 0.0, 0.5, 1.5, 10.0]])


def run(op, x=X, **params):
    return evaluate_node(Node("a", op, (Ref("x"),), params), [x], {})[0].value.ravel().tolist()


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, [0, 0, 0, 0.5, 1.5, 10]),
        ({"max_value": 6.0}, [0, 0, 0, 0.5, 1.5, 6]),
        ({"negative_slope": 0.5}, [-5, -1, 0, 0.5, 1.5, 10]),
        ({"threshold": 1.0}, [0, 0, 0, 0, 1.5, 10]),
        ({"threshold": 1.0, "negative_slope": 0.5}, [-5.5, -1.5, -0.5, -0.25, 1.5, 10]),
        ({"max_value": 2.0, "negative_slope": 0.5, "threshold": 1.0}, [-5.5, -1.5, -0.5, -0.25, 1.5, 2]),
        ({"max_value": 0.0}, [0, 0, 0, 0, 0, 0]),
    ],
)
def test_relu_by_hand(params, expected):
    assert run("ReLU", **params) == pytest.approx(expected)


def test_nan_goes_through_relu():
    assert np.isnan(run("ReLU", np.array([[np.nan]]))).all()
    assert np.isnan(run("ReLU", np.array([[np.nan]]), max_value=6.0, threshold=1.0)).all()


def test_leaky_relu_and_elu_by_hand():
    assert run("LeakyReLU") == pytest.approx([-3, -0.6, 0, 0.5, 1.5, 10])
    assert run("ELU", alpha=2.0)[:3] == pytest.approx([2 * np.expm1(-10.0), 2 * np.expm1(-2.0), 0])


def test_rounding_moves_no_infinity():
    """Nor does what rounding did on the way to it, however flat the function is there."""
    infinite = named_activations.FUNCTIONS["tanh"](
        Evaluation(np.array([np.inf, -np.inf, 1.0]), np.array([np.inf, 3.0, 1.0]))
    )
    assert infinite.value.tolist()[:2] == [1.0, -1.0]
    assert infinite.kappa.tolist()[:2] == [0.0, 0.0]
    assert 0 < infinite.kappa[2] < 1


def test_softmax_over_axes():
    x = np.zeros((1, 2, 4))
    assert run("Softmax", x) == [0.25] * 8
    assert run("Softmax", x, axis=1) == [0.5] * 8
    assert run("Softmax", x, axis=(-2, -1)) == [0.125] * 8


def test_activation_by_name():
    assert run("Activation", activation="relu6") == [0, 0, 0, 0.5, 1.5, 6]
    assert run("Activation", activation=None) == X.ravel().tolist()


@pytest.mark.parametrize(
    ("op", "params", "name"),
    [
        ("ReLU", {"max_value": -1.0}, "max_value"),
        ("ReLU", {"negative_slope": None}, "negative_slope"),
        ("ReLU", {"threshold": -1.0}, "threshold"),
        ("LeakyReLU", {"negative_slope": -0.5}, "negative_slope"),
        ("ELU", {"alpha": "a"}, "alpha"),
        ("Softmax", {"axis": 7}, "axis"),
        ("Softmax", {"axis": 0}, "axis"),
        ("Activation", {"activation": "no_such_activation"}, "activation"),
    ],
)
def test_bad_parameters_are_refused(op, params, name):
    spec = layer(op)
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete(params), [(2, 3)])


def test_a_rectifier_that_saturates_below_its_threshold_has_no_reference():
    """Between the two the documentation's cases say one thing, and what they say of the threshold another."""
    with pytest.raises(ShapeError, match="contradict each other"):
        run("ReLU", max_value=0.5, threshold=1.0)
    assert run("ReLU", max_value=1.0, threshold=1.0) == [0, 0, 0, 0, 1, 1]


def test_prelu_by_hand():
    node = Node("a", "PReLU", (Ref("x"),), {})
    (found,) = evaluate_node(node, [np.array([[-2.0, -2.0, 3.0]])], {"a/alpha": np.array([0.5, -1.0, 9.0])})
    assert found.value.tolist() == [[-1.0, 2.0, 3.0]]


def test_prelu_shares_slopes_along_axes():
    spec = layer("PReLU")
    shapes = {None: (3, 4), (1,): (1, 4), (-1,): (3, 1), (1, 2): (1, 1)}
    for shared, shape in shapes.items():
        assert spec.weights({"shared_axes": shared}, [(None, 3, 4)])["alpha"].shape == shape
    with pytest.raises(ShapeError, match="`shared_axes`.*Received: shared_axes="):
        spec.shape({"shared_axes": (7,)}, [(None, 3, 4)])
