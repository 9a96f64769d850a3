from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError


def run(op, x, **params):
    return evaluate_node(Node("p", op, (Ref("x"),), params), [x], {})[0].value


def test_bins_overlap_where_the_sizes_do_not_divide():
    x = np.array([0.0, 1.0, 4.0, 9.0, 16.0]).reshape(1, 5, 1)
    assert run("AdaptiveAveragePooling1D", x, output_size=2).ravel().tolist() == pytest.approx([5 / 3, 29 / 3])
    assert run("AdaptiveMaxPooling1D", -x, output_size=3).ravel().tolist() == [0.0, -1.0, -9.0]
    assert run("AdaptiveMaxPooling1D", x, output_size=5).ravel().tolist() == x.ravel().tolist()


@pytest.mark.parametrize("data_format", [None, "channels_first"])
def test_one_bin_is_the_global_pooling(data_format):
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    for kind in ("Average", "Max"):
        adaptive = run(f"Adaptive{kind}Pooling2D", x, output_size=1, data_format=data_format)
        whole = run(f"Global{kind}Pooling2D", x, keepdims=True, data_format=data_format)
        np.testing.assert_allclose(adaptive, whole)


def test_axes_are_pooled_apart():
    x = np.arange(8.0).reshape(1, 2, 2, 2, 1)
    assert run("AdaptiveAveragePooling3D", x, output_size=(1, 1, 2)).ravel().tolist() == [3.0, 4.0]


def test_an_output_larger_than_the_input_is_refused():
    spec = layer("AdaptiveMaxPooling1D")
    with pytest.raises(ShapeError, match="`output_size`.*Received: output_size=4"):
        spec.shape({"output_size": 4, "data_format": None}, [(1, 3, 2)])
