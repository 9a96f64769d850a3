from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

TABLE = {"e/embeddings": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])}


def embed(x, **params):
    node = Node("e", "Embedding", (Ref("x"),), {"input_dim": 3, "output_dim": 2, **params})
    return evaluate_node(node, [np.asarray(x)], TABLE)[0]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_rows_by_index(dtype):
    found = embed(np.array([[2, 0]], dtype), mask_zero=True)
    assert found.value.tolist() == [[[5.0, 6.0], [1.0, 2.0]]]
    assert not found.kappa.any()


@pytest.mark.parametrize("indices", [[-1], [3], [0, 3], [-1, 2], [3, 0]])
def test_an_index_outside_of_the_table_has_no_reference(indices):
    with pytest.raises(ShapeError, match="`input_dim`.*Received: input_dim=3"):
        embed([indices])


def test_no_indices_are_no_rows():
    assert embed(np.zeros((2, 0), int)).value.shape == (2, 0, 2)


def test_the_domain_is_the_table():
    domain = layer("Embedding").domain({"input_dim": 7})
    assert (domain.dtype, domain.low, domain.high) == ("int32", 0, 7)
    assert layer("Dense").domain({}).dtype == "float32"


def test_masking_zeroes_steps_that_hold_nothing_but_the_value():
    x = np.array([[[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]])
    (found,) = evaluate_node(Node("m", "Masking", (Ref("x"),), {"mask_value": 1.0}), [x], {})
    assert found.value.tolist() == [[[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]]


@pytest.mark.parametrize("params", [{"input_dim": 0}, {"output_dim": -1}, {"mask_zero": 1}])
def test_bad_parameters_are_refused(params):
    spec, (name,) = layer("Embedding"), params
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete({"input_dim": 3, "output_dim": 2, **params}), [(2, 3)])
