from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

SPEC = layer("EinsumDense")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 4))


def run(params, x, kernel, bias=None):
    weights = {"e/kernel": np.asarray(kernel), **({} if bias is None else {"e/bias": np.asarray(bias)})}
    return evaluate_node(Node("e", "EinsumDense", (Ref("x"),), params), [x], weights)[0].value


def test_the_simplest_equation_is_dense():
    params = {"equation": "ab,bc->ac", "output_shape": 2, "bias_axes": "c", "activation": "relu"}
    found = run(params, np.array([[1.0, 1.0]]), [[1.0, 2.0], [3.0, 4.0]], [0.5, -20.0])
    assert found.tolist() == [[4.5, 0.0]]


def test_axes_by_letter():
    kernel = RNG.normal(size=(4, 5, 6))
    found = run({"equation": "abc,cde->abde", "output_shape": (None, 5, 6)}, X, kernel)
    np.testing.assert_allclose(found, np.tensordot(X, kernel, axes=1))
    other = RNG.normal(size=(3, 5))
    found = run({"equation": "abc,bd->adc", "output_shape": (5, None)}, X, other)
    np.testing.assert_allclose(found, np.moveaxis(np.tensordot(X, other, axes=(1, 0)), 2, 1))


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_an_ellipsis_stands_for_what_is_left(rank):
    shape = (2, 3, 4)[: rank - 1]
    x, kernel = RNG.normal(size=(*shape, 5)), RNG.normal(size=(5, 2))
    params = {"equation": "...x,xy->...y", "output_shape": 2, "bias_axes": "y"}
    np.testing.assert_allclose(run(params, x, kernel, [1.0, 2.0]), x @ kernel + [1.0, 2.0])


@pytest.mark.parametrize(("axes", "shape"), [("e", (6,)), ("d", (5, 1)), ("de", (5, 6)), ("be", (3, 1, 6))])
def test_the_bias_begins_at_its_first_axis(axes, shape):
    params = SPEC.complete({"equation": "abc,cde->abde", "output_shape": (None, 5, 6), "bias_axes": axes})
    assert SPEC.weights(params, [(None, 3, 4)])["bias"].shape == shape


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"equation": "abc->ab"}, "equation"),
        ({"equation": "ab,bc->ac"}, "equation"),
        ({"equation": "abc,cd->bad"}, "equation"),
        ({"output_shape": 5}, "output_shape"),
        ({"output_shape": (9, 5)}, "output_shape"),
        ({"output_shape": (None, None)}, "output_shape"),
        ({"bias_axes": "z"}, "bias_axes"),
        ({"bias_axes": "a"}, "bias_axes"),
    ],
)
def test_what_does_not_fit_is_refused(params, name):
    fitting = {"equation": "abc,cd->abd", "output_shape": (None, 5)}
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        SPEC.shape(SPEC.complete({**fitting, **params}), [(2, 3, 4)])
