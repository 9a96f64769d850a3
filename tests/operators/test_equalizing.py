"""Layers of images that are documented by what they do, not by how: examples by hand, and who may judge them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.outcome import Outcome, Status
from tensorparity.operators.catalogue import has_layer, has_reference, layer, layer_names
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError
from tensorparity.oracles.measure.backward import layer_function
from tensorparity.oracles.measure.isolated_nodes import reference_of
from tensorparity.oracles.references import references

from ..judging import judge

CLAHE = "ContrastLimitedAdaptiveHistogramEqualization"


def run(op, x, **params):
    return evaluate_node(Node("i", op, (Ref("x"),), params), [np.asarray(x, float)], {})[0].value


def test_one_tile_by_hand():
    """Without a limit: of four pixels, the ranks among them; equal ones stay equal."""
    image = np.array([10.0, 20.9, 20.1, 200.0]).reshape(1, 2, 2, 1)
    found = run(CLAHE, image, tile_grid_size=(1, 1), clip_limit=256.0)
    # cumulative counts 1, 3, 3, 4 of which the first level below all has none
    np.testing.assert_allclose(found.ravel(), np.array([1.0, 3.0, 3.0, 4.0]) * 255 / 4)


def test_a_limit_of_nothing_spreads_all_pixels_over_all_levels():
    image = np.array([0.0, 100.0, 200.0, 255.0]).reshape(1, 2, 2, 1)
    found = run(CLAHE, image, tile_grid_size=(1, 1), clip_limit=1e-9)
    np.testing.assert_allclose(found, image, atol=1e-6)


def test_the_range_is_that_of_the_values():
    image = np.array([10.5, 20.9, 20.1, 200.5]).reshape(1, 2, 2, 1)
    plain = run(CLAHE, image, tile_grid_size=(1, 2))
    shares = run(CLAHE, image / 127.5 - 1.0, tile_grid_size=(1, 2), value_range=(-1, 1))
    np.testing.assert_allclose(shares, plain / 127.5 - 1.0)


def test_between_the_middles_of_two_tiles_their_tables_are_blended():
    left, right = np.full((1, 1, 4, 1), 10.0), np.full((1, 1, 4, 1), 20.0)
    found = run(CLAHE, np.concatenate([left, right], axis=2), tile_grid_size=(1, 2), clip_limit=256.0).ravel()
    # 10 is the highest of the left tile and below all of the right one; 20 is the highest of both
    np.testing.assert_allclose(found, [255, 255, 255, 191.25, 255, 255, 255, 255])


def test_an_image_has_as_many_pixels_as_tiles():
    spec = layer(CLAHE)
    with pytest.raises(ShapeError, match="8 or more pixels"):
        spec.shape(spec.complete({}), [(1, 8, 7, 3)])


def test_the_largest_window_by_hand():
    x = np.arange(8.0).reshape(1, 4, 2, 1)
    assert run("RandomCrop", x, height=1, width=2).ravel().tolist() == [2.0, 3.0]
    assert run("RandomCrop", x, height=4, width=2).ravel().tolist() == list(range(8))


def test_nobody_is_held_against_what_is_nowhere_said():
    voted = {name for name in layer_names() if has_layer(name) and not has_reference(name)}
    assert voted == {CLAHE, "RandomCrop"}
    x = np.ones((1, 2, 2, 1), np.float32)
    node = Node("i", CLAHE, (Ref("x"),), {"tile_grid_size": (1, 1)})
    assert reference_of(node, [x], {}) is None
    assert layer_function(node, [x], {}, x, training=False) is None
    build = GraphBuilder()
    graph = build.build(build.add(CLAHE, build.input("x", (2, 2, 1)), name="i", tile_grid_size=(1, 1)))
    case = Case(graph, inputs={"x": x})
    assert references(case) == {}
    alike = {target: Outcome(target, Status.COMPLETED, {"i": x * 9}) for target in ("keras:torch", "keras:jax")}
    assert judge(case, alike) == (None, "")
