from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.layers import convolution, transposed
from tensorparity.operators.layers.spatial import Window
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError


def run(params, x, kernel):
    node = Node("t", "Conv1DTranspose", (Ref("x"),), {"filters": 1, "use_bias": False, **params})
    values = np.asarray(x, dtype=float).reshape(1, -1, 1)
    weights = {"t/kernel": np.asarray(kernel, dtype=float).reshape(-1, 1, 1)}
    return evaluate_node(node, [values], weights)[0].value.ravel().tolist()


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"kernel_size": 3}, [1, 12, 123, 230, 300]),
        ({"kernel_size": 3, "strides": 2}, [1, 10, 102, 20, 203, 30, 300]),
        ({"kernel_size": 3, "strides": 2, "padding": "same"}, [1, 10, 102, 20, 203, 30]),
        ({"kernel_size": 3, "padding": "same"}, [12, 123, 230]),
        ({"kernel_size": 3, "dilation_rate": 2}, [1, 2, 13, 20, 130, 200, 300]),
        ({"kernel_size": 3, "strides": 2, "output_padding": 1}, [1, 10, 102, 20, 203, 30, 300, 0]),
        ({"kernel_size": 3, "strides": 2, "padding": "same", "output_padding": 0}, [10, 102, 20, 203, 30]),
        ({"kernel_size": 3, "strides": 4}, [1, 10, 100, 0, 2, 20, 200, 0, 3, 30, 300, 0]),
    ],
)
def test_values_by_hand(params, expected):
    assert run(params, [1, 2, 3], [1, 10, 100]) == expected


def test_a_dilated_kernel_lands_apart():
    assert run({"kernel_size": 2, "dilation_rate": 3}, [1, 2], [1, 10]) == [1, 2, 0, 10, 20]


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_it_is_the_adjoint_of_the_convolution(padding, strides):
    """<conv(y), x> = <y, transpose(x)>, which is what the name says."""
    rng = np.random.default_rng(0)
    window = Window((3, 2), strides, padding)
    x, kernel = rng.normal(size=(1, 4, 3, 2)), rng.normal(size=(3, 2, 5, 2))
    found = transposed.spread(x, kernel, window, (None, None)).value
    y = rng.normal(size=found.shape)
    assert np.sum(convolution.contract(y, kernel, window).value * x) == pytest.approx(np.sum(y * found))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"output_padding": 1}, "`output_padding`"),
        ({"strides": 2, "dilation_rate": 2}, "`dilation_rate`"),
        ({"padding": "causal"}, "`padding`"),
        ({"filters": 0}, "`filters`"),
    ],
)
def test_what_does_not_fit_is_refused(params, words):
    spec = layer("Conv1DTranspose")
    with pytest.raises(ShapeError, match=f"{words}.*Received: "):
        spec.shape(spec.complete({"filters": 1, "kernel_size": 2, **params}), [(1, 4, 3)])


def test_unknown_sizes_and_the_order_of_the_kernel():
    spec = layer("Conv2DTranspose")
    params = spec.complete({"filters": 4, "kernel_size": 3, "strides": 2, "padding": "same"})
    assert spec.shape(params, [(None, None, 5, 3)]) == ((None, None, 10, 4),)
    assert spec.weights(params, [(None, None, 5, 3)])["kernel"].shape == (3, 3, 4, 3)
