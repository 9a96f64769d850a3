from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError


def run(a, b, **params):
    return evaluate_node(Node("d", "Dot", (Ref("a"), Ref("b")), params), [np.asarray(a), np.asarray(b)], {})[0].value


def test_vectors_give_a_column():
    assert run([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [1.0, 1.0]], axes=1).tolist() == [[17.0], [7.0]]
    assert run([[3.0, 4.0]], [[6.0, 8.0]], axes=-1, normalize=True).ravel() == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("axes", "a", "b", "equation"),
    [
        ((2, 1), (2, 3, 4), (2, 4, 5), "abc,acd->abd"),
        (1, (2, 4, 3), (2, 4, 5), "abc,abd->acd"),
        (-1, (2, 3, 4), (2, 4), "abc,ac->ab"),
        ((1, 2), (2, 4), (2, 3, 4), "ac,abc->ab"),
    ],
)
def test_one_axis_of_each(axes, a, b, equation):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=a), rng.normal(size=b)
    np.testing.assert_allclose(run(x, y, axes=axes), np.einsum(equation, x, y))


@pytest.mark.parametrize("axes", [0, 2, (1, 2, 3), (1, 2)])
def test_what_does_not_fit_is_refused(axes):
    spec = layer("Dot")
    with pytest.raises(ShapeError, match="`axes`.*Received: axes="):
        spec.shape(spec.complete({"axes": axes}), [(2, 3), (2, 3, 4)])
