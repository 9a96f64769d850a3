"""What no other test has by hand and the table needs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.reference.evaluate import evaluate_node


@pytest.mark.parametrize("name", ["SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"])
def test_spatial_dropout(name):
    x = np.arange(1.0, 1.0 + 2 ** (int(name[-2]) + 2)).reshape(*[2] * (int(name[-2]) + 2))
    (found,) = evaluate_node(Node("s", name, (Ref("x"),), {"rate": 0.5}), [x], {})
    np.testing.assert_array_equal(found.value, x)


def call(name, *operands):
    return OPERATORS.get(name).evaluate({}, [np.array([numbers]) for numbers in operands]).value[0].tolist()


def test_soft_margin():
    """The log of 1 + exp(-t y): of 4/3, 2, 4, and far out the product itself."""
    logits, labels = [math.log(3.0), 0.0, -math.log(3.0), 4000.0], [1.0, 0.5, 1.0, -0.5]
    expected = [math.log(4.0 / 3.0), math.log(2.0), math.log(4.0), 2000.0]
    assert call("soft_margin", logits, labels) == pytest.approx(expected, rel=1e-12)


def test_squareplus():
    """The positive root of y^2 - x y - 1: x is y - 1/y."""
    roots = [0.5, 1.0, 2.0, 4.0]
    assert call("squareplus", [y - 1.0 / y for y in roots]) == roots


def test_tanh_shrink():
    """tanh(log n) is (n^2 - 1) / (n^2 + 1)."""
    found = call("tanh_shrink", [math.log(2.0), math.log(3.0), -math.log(2.0), 0.0])
    expected = [math.log(2.0) - 0.6, math.log(3.0) - 0.8, 0.6 - math.log(2.0), 0.0]
    assert found == pytest.approx(expected, rel=1e-12)
