from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

X = np.arange(9.0).reshape(1, 3, 3, 1)


def run(op, params, x):
    return evaluate_node(Node("p", op, (Ref("x"),), params), [x], {})[0]


def test_max_by_hand():
    assert run("MaxPooling2D", {}, X).value.ravel().tolist() == [4.0]
    found = run("MaxPooling2D", {"padding": "same"}, -X)
    assert found.value.ravel().tolist() == [0.0, -2.0, -6.0, -8.0]
    assert not found.kappa.any()


def test_average_divides_by_the_inputs_and_not_by_the_padding():
    assert run("AveragePooling2D", {"pool_size": 2, "padding": "same"}, X).value.ravel().tolist() == [2, 3.5, 6.5, 8]


def test_strides_default_to_the_window():
    x = np.zeros((1, 9, 9, 1))
    assert run("AveragePooling2D", {"pool_size": 3}, x).value.shape == (1, 3, 3, 1)
    assert run("MaxPooling2D", {"pool_size": 3, "strides": 1}, x).value.shape == (1, 7, 7, 1)


@pytest.mark.parametrize(("data_format", "expected"), [("channels_last", [3.0, 4.0]), ("channels_first", [1.5, 5.5])])
def test_global_average(data_format, expected):
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).reshape(1, 2, 2, 2)
    assert run("GlobalAveragePooling2D", {"data_format": data_format}, x).value.ravel().tolist() == expected


def test_global_max_keeps_its_axes_when_asked():
    assert run("GlobalMaxPooling2D", {"keepdims": True}, X).value.shape == (1, 1, 1, 1)
    assert run("GlobalMaxPooling2D", {}, X).value.tolist() == [[8.0]]


def test_nan_wins():
    x = X.copy()
    x[0, 0, 0, 0] = np.nan
    assert np.isnan(run("MaxPooling2D", {}, x).value).all()


@pytest.mark.parametrize("params", [{"pool_size": 0}, {"strides": 0}, {"padding": "full"}, {"pool_size": 4}])
def test_what_does_not_fit_is_refused(params):
    spec = layer("MaxPooling2D")
    with pytest.raises(ShapeError, match="Received: "):
        spec.shape(spec.complete(params), [(1, 3, 3, 1)])


def test_one_axis_and_three_by_hand():
    x = np.array([1.0, 5.0, 3.0, 7.0, 4.0]).reshape(1, 5, 1)
    assert run("MaxPooling1D", {}, x).value.ravel().tolist() == [5.0, 7.0]
    assert run("AveragePooling1D", {"pool_size": 3, "padding": "same"}, x).value.ravel().tolist() == [3.0, 5.5]
    assert run("GlobalAveragePooling1D", {}, x).value.tolist() == [[4.0]]
    assert run("GlobalMaxPooling1D", {"keepdims": True}, x).value.tolist() == [[[7.0]]]
    cube = np.arange(8.0).reshape(1, 2, 2, 2, 1)
    assert run("MaxPooling3D", {}, cube).value.ravel().tolist() == [7.0]
    assert run("AveragePooling3D", {"pool_size": (1, 2, 2)}, cube).value.ravel().tolist() == [1.5, 5.5]
    assert run("GlobalAveragePooling3D", {}, cube).value.tolist() == [[3.5]]
    assert run("GlobalMaxPooling3D", {}, cube).value.tolist() == [[7.0]]
