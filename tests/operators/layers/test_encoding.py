from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError


def run(op, params, x, **weights):
    named = {f"e/{name}": np.asarray(value, dtype=float) for name, value in weights.items()}
    return evaluate_node(Node("e", op, (Ref("x"),), params), [np.asarray(x)], named)[0].value


def test_normalization_by_arguments_and_by_weights():
    assert run("Normalization", {"mean": 1.0, "variance": 4.0}, [[5.0, -1.0]]).tolist() == [[2.0, -1.0]]
    adapted = {"mean": [1.0, 0.0], "variance": [4.0, 0.25], "count": 9.0}
    assert run("Normalization", {}, [[5.0, -1.0]], **adapted).tolist() == [[2.0, -2.0]]
    assert run("Normalization", {"invert": True}, [[2.0, -2.0]], **adapted).tolist() == [[5.0, -1.0]]
    one = {"mean": 1.0, "variance": 4.0, "count": 9.0}
    assert run("Normalization", {"axis": None}, [[5.0, -1.0]], **one).tolist() == [[2.0, -1.0]]


def test_a_boundary_belongs_to_the_bin_above():
    x = [[-3.0, 0.0, 0.5, 9.0]]
    assert run("Discretization", {"bin_boundaries": [0.0, 1.0]}, x).tolist() == [[0.0, 1.0, 1.0, 2.0]]
    counted = run("Discretization", {"bin_boundaries": [0.0, 1.0], "output_mode": "count"}, x)
    assert counted.tolist() == [[1.0, 2.0, 1.0]]


@pytest.mark.parametrize(
    ("mode", "x", "expected"),
    [
        ("multi_hot", [[0, 2, 2]], [[1, 0, 1]]),
        ("count", [[0, 2, 2]], [[1, 0, 2]]),
        ("one_hot", [[0, 2]], [[[1, 0, 0], [0, 0, 1]]]),
        ("one_hot", [[2], [1]], [[0, 0, 1], [0, 1, 0]]),
        ("multi_hot", [[[0, 1], [2, 2]]], [[[1, 1, 0], [0, 0, 1]]]),
    ],
)
def test_categories_by_hand(mode, x, expected):
    found = run("CategoryEncoding", {"num_tokens": 3, "output_mode": mode}, x)
    assert found.tolist() == expected


def test_entries_count_as_their_weights():
    node = Node("n", "CategoryEncoding", (Ref("x"), Ref("w")), {"num_tokens": 3, "output_mode": "count"})
    found = evaluate_node(node, [np.array([[0, 2, 2]]), np.array([[0.5, 2.0, -0.25]])], {})[0]
    assert found.value.tolist() == [[0.5, 0.0, 1.75]]
    assert found.kappa.tolist() == [[0.5, 0.0, 2.25]]
    spec = layer("CategoryEncoding")
    assert [spec.domain_of({"num_tokens": 3}, index).dtype for index in (0, 1)] == ["int32", "float32"]


def test_an_infinite_weight_is_that_of_its_own_token():
    node = Node("n", "CategoryEncoding", (Ref("x"), Ref("w")), {"num_tokens": 2, "output_mode": "count"})
    found = evaluate_node(node, [np.array([[0, 1]]), np.array([[np.inf, 1.0]])], {})[0]
    assert found.value.tolist() == [[np.inf, 1.0]]


@pytest.mark.parametrize(
    ("params", "shapes", "words"),
    [
        ({"output_mode": "multi_hot"}, [(2, 3), (2, 3)], "no weights unless they are counted"),
        ({"output_mode": "count"}, [(2, 3), (2, 4)], "a weight for each entry"),
    ],
)
def test_weights_that_do_not_fit_are_refused(params, shapes, words):
    spec = layer("CategoryEncoding")
    with pytest.raises(ShapeError, match=words):
        spec.shape(spec.complete({"num_tokens": 3, **params}), shapes)


@pytest.mark.parametrize(
    ("op", "params", "name"),
    [
        ("Normalization", {"mean": 1.0}, "variance"),
        ("Normalization", {"axis": 7}, "axis"),
        ("Discretization", {"bin_boundaries": [1.0, 0.0]}, "bin_boundaries"),
        ("Discretization", {"bin_boundaries": [0.0], "output_mode": "x"}, "output_mode"),
        ("CategoryEncoding", {"num_tokens": 0}, "num_tokens"),
    ],
)
def test_bad_parameters_are_refused(op, params, name):
    spec = layer(op)
    with pytest.raises(ShapeError, match=f"`{name}`.*Received: {name}="):
        spec.shape(spec.complete(params), [(2, 4)])
