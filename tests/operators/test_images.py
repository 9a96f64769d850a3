from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

ROW = np.array([0.0, 4.0, 8.0]).reshape(1, 1, 3, 1)


def run(op, x, **params):
    return evaluate_node(Node("i", op, (Ref("x"),), params), [x], {})[0].value


def test_the_middle_leaves_the_odd_column_out_at_the_end():
    x = np.arange(6.0).reshape(1, 1, 6, 1)
    assert run("CenterCrop", x, height=1, width=3).ravel().tolist() == [1.0, 2.0, 3.0]
    spec = layer("CenterCrop")
    with pytest.raises(ShapeError, match="`width`.*Received: width=9"):
        spec.shape(spec.complete({"height": 1, "width": 9}), [(1, 4, 4, 1)])


def test_resizing_by_hand():
    assert run("Resizing", ROW, height=1, width=6).ravel().tolist() == [0.0, 1.0, 3.0, 5.0, 7.0, 8.0]
    assert run("Resizing", ROW, height=1, width=2).ravel().tolist() == [1.0, 7.0]
    assert run("Resizing", ROW, height=2, width=1, interpolation="nearest").ravel().tolist() == [4.0, 4.0]


def test_resizing_by_a_whole_factor_is_upsampling():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 2))
    for how in ("nearest", "bilinear"):
        found = run("Resizing", x, height=6, width=12, interpolation=how)
        np.testing.assert_allclose(found, run("UpSampling2D", x, size=(2, 3), interpolation=how))


AUGMENTING = ("AugMix", "CutMix", "Equalization", "MixUp", "RandAugment", "Solarization")


@pytest.mark.parametrize("name", [*AUGMENTING, *(name for name in layer_names() if name.startswith("Random"))])
def test_random_layers_pass_images_on_in_inference(name, draw_example):
    assert layer(name).random
    example = draw_example(name, np.random.default_rng(0))
    assert example.inputs[0].min() >= 0
    (found,) = evaluate_node(example.node, example.inputs, example.weights)
    np.testing.assert_array_equal(found.value, example.inputs[0])
