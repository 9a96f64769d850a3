from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.graph import Node, Ref
from tensorparity.operators.catalogue import layer
from tensorparity.operators.reference.evaluate import evaluate_node
from tensorparity.operators.spec import ShapeError

A, B, C = np.array([[1.0, 5.0]]), np.array([[4.0, 2.0]]), np.array([[-2.0, 3.0]])


def run(op, *inputs, **params):
    refs = tuple(Ref(f"x{index}") for index in range(len(inputs)))
    return evaluate_node(Node("m", op, refs, params), inputs, {})[0]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Add", [3, 10]),
        ("Multiply", [-8, 30]),
        ("Average", [1, 10 / 3]),
        ("Maximum", [4, 5]),
        ("Minimum", [-2, 2]),
        ("Concatenate", [1, 5, 4, 2, -2, 3]),
    ],
)
def test_values_by_hand(op, expected):
    assert run(op, A, B, C).value.ravel().tolist() == pytest.approx(expected)


def test_subtract_takes_exactly_two():
    assert run("Subtract", A, B).value.tolist() == [[-3.0, 3.0]]
    with pytest.raises(ShapeError, match="expected 2 inputs. Received: 3"):
        run("Subtract", A, B, C)


def test_cancellation_is_in_kappa():
    found = run("Subtract", np.array([[1.0]]), np.array([[1.0]]))
    assert found.value == 0.0
    assert found.kappa == 2.0


def test_lower_ranks_are_widened_behind_the_batch_axis():
    big, small = np.zeros((2, 3, 4)), np.arange(8.0).reshape(2, 4)
    found = run("Add", big, small)
    np.testing.assert_array_equal(found.value, np.broadcast_to(small[:, None], (2, 3, 4)))


@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        ("Add", [(2, 3), (2, 4)]),
        ("Add", [(2, 3), (3, 3)]),
        ("Concatenate", [(2, 3, 4), (2, 4, 4)]),
        ("Concatenate", [(2, 3, 4), (2, 4)]),
    ],
)
def test_what_does_not_fit_is_refused(op, shapes):
    spec = layer(op)
    with pytest.raises(ShapeError, match="Expected .*Received: shapes="):
        spec.shape(spec.complete({}), shapes)


def test_unknown_sizes():
    spec = layer("Concatenate")
    assert spec.shape({"axis": 1}, [(None, 3, None), (2, None, 4)]) == ((2, None, 4),)
    assert layer("Add").shape({}, [(None, 1, 5), (None, 3, None)]) == ((None, 3, None),)
