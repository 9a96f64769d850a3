from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError


def run(op, params, x, **weights):
    node = Node("n", op, (Ref("x"),), params)
    named = {f"n/{name}": np.asarray(value, dtype=float) for name, value in weights.items()}
    return evaluate_node(node, [np.asarray(x, dtype=float)], named)[0].value


def test_groups_by_hand():
    params = {"groups": 2, "epsilon": 0.0}
    found = run("GroupNormalization", params, [[1, 3, 10, 30]], gamma=[1, 1, 2, 2], beta=[0, 0, 0, 1])
    assert found.tolist() == [[-1.0, 1.0, -2.0, 3.0]]


def test_one_group_over_positions_and_channels():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    plain = {"epsilon": 0.0, "center": False, "scale": False}
    found = run("GroupNormalization", {"groups": 1, **plain}, x)
    np.testing.assert_allclose(found, run("LayerNormalization", {"axis": [1, 2], **plain}, x))
    own = run("GroupNormalization", {"groups": -1, "axis": 1, **plain}, x)
    np.testing.assert_allclose(own.mean(axis=2), 0, atol=1e-12)


def test_rms_by_hand():
    assert run("RMSNormalization", {"epsilon": 0.0}, [[1.0, 7.0]], scale=[5.0, 10.0]).tolist() == [[1.0, 14.0]]
    assert run("RMSNormalization", {"epsilon": 24.0}, [[5.0, 5.0]], scale=[7.0, 7.0]).tolist() == [[5.0, 5.0]]


def test_unit_length_by_hand():
    assert run("UnitNormalization", {}, [[3.0, 4.0], [0.0, 0.0]]).tolist() == [[0.6, 0.8], [0.0, 0.0]]
    found = run("UnitNormalization", {"axis": (1, 2)}, np.ones((1, 2, 2)))
    assert found.ravel().tolist() == [0.5] * 4


@pytest.mark.parametrize(
    ("op", "params", "name"),
    [
        ("GroupNormalization", {"groups": 3}, "groups"),
        ("GroupNormalization", {"groups": 0}, "groups"),
        ("GroupNormalization", {"groups": 2, "axis": 0}, "axis"),
        ("RMSNormalization", {"axis": 7}, "axis"),
        ("UnitNormalization", {"axis": "x"}, "axis"),
    ],
)
def test_bad_parameters_are_refused(op, params, name):
    spec = layer(op)
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete(params), [(2, 4)])
