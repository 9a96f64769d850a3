from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

X = np.arange(8.0).reshape(1, 2, 2, 2)


def run(op, x=X, **params):
    return evaluate_node(Node("r", op, (Ref("x"),), params), [x], {})[0].value


def shape(op, received, **params):
    spec = layer(op)
    return spec.shape(spec.complete(params), [received])[0]


def test_flatten_turns_channels_last_first():
    assert run("Flatten").tolist() == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert run("Flatten", data_format="channels_first").tolist() == [[0, 4, 1, 5, 2, 6, 3, 7]]
    assert shape("Flatten", (None, None, 3)) == (None, None)


def test_reshape():
    assert run("Reshape", target_shape=(4, -1)).shape == (1, 4, 2)
    assert shape("Reshape", (None, 6, 2), target_shape=(3, -1)) == (None, 3, 4)
    assert shape("Reshape", (None, None, 2), target_shape=(3, -1)) == (None, 3, None)


def test_permute():
    np.testing.assert_array_equal(run("Permute", dims=(3, 1, 2)), X.transpose(0, 3, 1, 2))
    assert shape("Permute", (None, 5, 7), dims=(2, 1)) == (None, 7, 5)


def test_padding_and_cropping_undo_each_other():
    margins = ((1, 0), (2, 3))
    for data_format in (None, "channels_first"):
        padded = run("ZeroPadding2D", padding=margins, data_format=data_format)
        np.testing.assert_array_equal(run("Cropping2D", padded, cropping=margins, data_format=data_format), X)
    assert run("ZeroPadding2D").shape == (1, 4, 4, 2)
    assert run("ZeroPadding2D", padding=(1, 2)).shape == (1, 4, 6, 2)


@pytest.mark.parametrize("dims", [1, 3])
def test_padding_and_cropping_over_one_and_three_axes(dims):
    x = np.random.default_rng(0).normal(size=(2, *(3,) * dims, 2))
    margins = (1, 2) if dims == 1 else ((1, 0), (0, 2), (3, 1))
    padded = run(f"ZeroPadding{dims}D", x, padding=margins)
    assert padded.sum() == pytest.approx(x.sum())
    np.testing.assert_array_equal(run(f"Cropping{dims}D", padded, cropping=margins), x)


def test_defaults_of_padding_and_cropping():
    assert shape("ZeroPadding1D", (1, 3, 2)) == (1, 5, 2)
    assert shape("ZeroPadding1D", (1, 3, 2), data_format="channels_first") == (1, 3, 4)
    assert shape("Cropping1D", (1, 3, 2)) == (1, 1, 2)
    assert shape("ZeroPadding3D", (1, 3, None, 3, 2)) == (1, 5, None, 5, 2)
    assert shape("Cropping3D", (1, 3, 4, 5, 2)) == (1, 1, 2, 3, 2)


def test_repeating():
    assert run("RepeatVector", np.array([[1.0, 2.0]]), n=2).tolist() == [[[1.0, 2.0], [1.0, 2.0]]]
    assert run("UpSampling1D", np.array([[[1.0], [2.0]]])).ravel().tolist() == [1, 1, 2, 2]
    x = np.arange(2.0).reshape(1, 1, 1, 2, 1)
    assert run("UpSampling3D", x, size=(1, 2, 1)).ravel().tolist() == [0, 1, 0, 1]


def test_upsampling_repeats():
    x = np.array([1.0, 2.0]).reshape(1, 1, 2, 1)
    assert run("UpSampling2D", x).ravel().tolist() == [1, 1, 2, 2, 1, 1, 2, 2]


def test_upsampling_blends_between_centres():
    x = np.array([0.0, 4.0]).reshape(1, 1, 2, 1)
    assert run("UpSampling2D", x, size=(1, 2), interpolation="bilinear").ravel().tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("op", "params", "name"),
    [
        ("Reshape", {"target_shape": (-1, -1)}, "target_shape"),
        ("Reshape", {"target_shape": (-2,)}, "target_shape"),
        ("Reshape", {"target_shape": (5, 5)}, "target_shape"),
        ("Permute", {"dims": (0, 1, 2)}, "dims"),
        ("Permute", {"dims": (2, 1)}, "dims"),
        ("ZeroPadding2D", {"padding": -1}, "padding"),
        ("Cropping2D", {"cropping": 1}, "cropping"),
        ("Cropping2D", {"cropping": (1, 2, 3)}, "cropping"),
        ("UpSampling2D", {"size": 0}, "size"),
        ("UpSampling2D", {"interpolation": "cubist"}, "interpolation"),
        ("Flatten", {"data_format": "x"}, "data_format"),
    ],
)
def test_what_does_not_fit_is_refused(op, params, name):
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        shape(op, (1, 2, 2, 2), **params)
