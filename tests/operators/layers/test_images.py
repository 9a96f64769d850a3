from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import ShapeError

ROW = np.array([0.0, 4.0, 8.0]).reshape(1, 1, 3, 1)


def run(op, x, **params):
    return evaluate_node(Node("i", op, (Ref("x"),), params), [x], {})[0].value


def test_the_middle_leaves_the_odd_column_out_at_the_end():
    x = np.arange(6.0).reshape(1, 1, 6, 1)
    assert run("CenterCrop", x, height=1, width=3).ravel().tolist() == [1.0, 2.0, 3.0]


def test_what_is_too_small_to_crop_is_resized():
    x = np.arange(8.0).reshape(1, 4, 2, 1)
    assert run("CenterCrop", x, height=1, width=4).ravel().tolist() == [2.0, 2.25, 2.75, 3.0]


def test_the_aspect_ratio_is_kept_by_cropping_or_padding():
    wide = np.arange(6.0).reshape(1, 1, 6, 1)
    assert run("Resizing", wide, height=1, width=2, crop_to_aspect_ratio=True).ravel().tolist() == [2.0, 3.0]
    framed = run("Resizing", wide, height=3, width=6, pad_to_aspect_ratio=True, fill_value=-1.0)
    assert framed[0, :, :, 0].tolist() == [[-1.0] * 6, list(range(6)), [-1.0] * 6]
    with pytest.raises(ShapeError, match="pad_to_aspect_ratio"):
        run("Resizing", wide, height=1, width=2, crop_to_aspect_ratio=True, pad_to_aspect_ratio=True)


def test_kernels_by_hand():
    assert run("Resizing", ROW, height=1, width=1, antialias=True).ravel().tolist() == [4.0]
    steps = np.array([0.0, 0.0, 1.0, 1.0]).reshape(1, 1, 4, 1)
    widened = run("Resizing", steps, height=1, width=2, antialias=True).ravel()
    np.testing.assert_allclose(widened, [1 / 7, 6 / 7])  # 3/4, 3/4 and 1/4 of what lies half, half and 3 halves away
    parabola = (np.arange(8.0) ** 2).reshape(1, 1, 8, 1)
    found = run("Resizing", parabola, height=1, width=16, interpolation="bicubic").ravel()
    places = (np.arange(16) + 0.5) / 2 - 0.5
    np.testing.assert_allclose(found[4:12], places[4:12] ** 2)
    sharp = run("Resizing", steps, height=1, width=4, interpolation="lanczos3").ravel()
    np.testing.assert_allclose(sharp, steps.ravel(), atol=1e-15)


def test_resizing_by_hand():
    assert run("Resizing", ROW, height=1, width=6).ravel().tolist() == [0.0, 1.0, 3.0, 5.0, 7.0, 8.0]
    assert run("Resizing", ROW, height=1, width=2).ravel().tolist() == [1.0, 7.0]
    assert run("Resizing", ROW, height=2, width=1, interpolation="nearest").ravel().tolist() == [4.0, 4.0]


def test_resizing_by_a_whole_factor_is_upsampling():
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 2))
    for how in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"):
        found = run("Resizing", x, height=6, width=12, interpolation=how)
        np.testing.assert_allclose(found, run("UpSampling2D", x, size=(2, 3), interpolation=how))


def test_a_place_that_rounds_to_the_other_side_of_a_cell_is_within_the_bound():
    """Of a zero among zeros the cell across is all that rounding can bring in; a library that loses it is no worse."""
    x = np.zeros((1, 3, 3, 1), np.float32)
    x[0, 0, 0, 0] = 2.0
    node = Node("n", "UpSampling2D", (Ref("x"),), {"size": 3, "interpolation": "bilinear"})
    (found,) = evaluate_node(node, [x], {})
    assert found.value[0, 4, 4, 0] == 0.0
    off = found.value.copy()
    off[0, 4, 4, 0] = 2.0 * 2.0**-48
    assert error_units(off.astype(np.float32), found, "float32").max() < K
    off[0, 4, 4, 0] = 1e-6
    assert error_units(off.astype(np.float32), found, "float32").max() > K


AUGMENTING = ("AugMix", "CutMix", "Equalization", "MixUp", "RandAugment", "Solarization")


@pytest.mark.parametrize("name", [*AUGMENTING, *(name for name in layer_names() if name.startswith("Random"))])
def test_random_layers_pass_images_on_in_inference(name, draw_example):
    assert layer(name).random
    example = draw_example(name, np.random.default_rng(0))
    assert example.inputs[0].min() >= 0
    (found,) = evaluate_node(example.node, example.inputs, example.weights)
    np.testing.assert_array_equal(found.value, example.inputs[0])
