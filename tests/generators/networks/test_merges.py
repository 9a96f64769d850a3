"""Shapes of what is merged: the layer takes them all, and they differ at times."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.generators.networks.merges import merged_shapes
from tensorparity.generators.networks.networks import NetworkGenerator, NetworkSettings
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import infer_shapes


def drawn(op, params, shape, count):
    rng, complete = np.random.default_rng(0), layer(op).complete(params)
    return [merged_shapes(rng, op, complete, shape, count) for _ in range(200)]


@pytest.mark.parametrize(
    ("op", "params", "shape", "count"),
    [
        ("Add", {}, (4, 3, 2), 3),
        ("Maximum", {}, (5,), 2),
        ("Concatenate", {}, (4, 3), 2),
        ("Concatenate", {"axis": 1}, (4, 3), 3),
        ("Attention", {}, (4, 3), 2),
        ("MultiHeadAttention", {"num_heads": 2, "key_dim": 2}, (4, 3), 3),
    ],
)
def test_the_layer_takes_them_and_some_differ(op, params, shape, count):
    found = drawn(op, params, shape, count)
    spec = layer(op)
    for shapes in found:
        spec.shape(spec.complete(params), [(2, *own) for own in shapes])
    apart = [shapes for shapes in found if len(set(shapes)) > 1]
    assert 20 < len(apart) < 100


@pytest.mark.parametrize(("op", "params"), [("Dot", {"axes": 1}), ("Attention", {})])
def test_where_nothing_else_is_known_to_fit_all_are_of_one_shape(op, params):
    shape = (4, 3, 2)
    assert drawn(op, params, shape, 2) == [[shape] * 2] * 200


def test_an_axis_of_the_batch_or_of_nothing_is_left_alone():
    assert drawn("Concatenate", {"axis": 5}, (4, 3), 2) == [[(4, 3)] * 2] * 200


def shapes_of_merges(varied):
    generator = NetworkGenerator(0, NetworkSettings(max_vertices=12, varied=varied))
    for case in (generator.next().case for _ in range(40)):
        sizes = infer_shapes(case.subject, len(next(iter(case.inputs.values()))))
        sizes |= {spec.name: ((None, *spec.shape),) for spec in case.subject.inputs}
        for node in case.subject.nodes:
            if len(node.inputs) > 1:
                yield {tuple(sizes[ref.node][ref.index][1:]) for ref in node.inputs}


def test_networks_have_merges_of_other_shapes_and_those_of_the_paper_have_none():
    assert any(len(shapes) > 1 for shapes in shapes_of_merges(True))
    assert all(len(shapes) == 1 for shapes in shapes_of_merges(False))
