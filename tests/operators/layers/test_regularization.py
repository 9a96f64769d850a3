from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

X = np.array([[1.0, -2.0]], np.float32)


def run(op, **params):
    return evaluate_node(Node("r", op, (Ref("x"),), params), [X], {})[0]


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("Dropout", {"rate": 0.5}),
        ("AlphaDropout", {"rate": 0.5}),
        ("GaussianDropout", {"rate": 0.5}),
        ("GaussianNoise", {"stddev": 0.5}),
        ("ActivityRegularization", {"l1": 0.5}),
        ("Identity", {}),
    ],
)
def test_inference_passes_the_input_on(op, params):
    found = run(op, **params)
    np.testing.assert_array_equal(found.value, X)
    assert not found.kappa.any()


def test_dropout_is_random_and_the_others_are_not():
    for name in ("Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise", "SpatialDropout2D"):
        assert layer(name).random
    for name in ("Identity", "ActivityRegularization"):
        assert not layer(name).random


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_spatial_dropout_takes_one_rank(dims):
    spec = layer(f"SpatialDropout{dims}D")
    shape = (None, *(4,) * (dims + 1))
    assert spec.shape(spec.complete({"rate": 0.5}), [shape]) == (shape,)
    with pytest.raises(ShapeError, match="Expected an input of rank.*Received: shape="):
        spec.shape(spec.complete({"rate": 0.5}), [(None, 4)])


def test_rescaling_by_hand():
    assert run("Rescaling", scale=2.0, offset=-1.0).value.tolist() == [[1.0, -5.0]]
    assert run("Rescaling", scale=[1.0, 10.0], offset=[0.0, 1.0]).value.tolist() == [[1.0, -19.0]]


@pytest.mark.parametrize(
    ("op", "params", "name"),
    [
        ("Dropout", {"rate": 1.5}, "rate"),
        ("GaussianNoise", {"stddev": -1.0}, "stddev"),
        ("ActivityRegularization", {"l2": "much"}, "l2"),
        ("Dropout", {"rate": 0.5, "noise_shape": "same"}, "noise_shape"),
        ("Rescaling", {"scale": "much"}, "scale"),
        ("Rescaling", {"scale": [1.0, 2.0, 3.0]}, "scale"),
        ("Rescaling", {"scale": 1.0, "offset": [[1.0], [1.0, 2.0]]}, "offset"),
    ],
)
def test_bad_parameters_are_refused(op, params, name):
    spec = layer(op)
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete(params), [(1, 2)])
