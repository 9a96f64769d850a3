"""What no other test has by hand and the table needs."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.evaluate import evaluate_node


@pytest.mark.parametrize("name", ["SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"])
def test_spatial_dropout(name):
    x = np.arange(1.0, 1.0 + 2 ** (int(name[-2]) + 2)).reshape(*[2] * (int(name[-2]) + 2))
    (found,) = evaluate_node(Node("s", name, (Ref("x"),), {"rate": 0.5}), [x], {})
    np.testing.assert_array_equal(found.value, x)
