"""Windows around the worst number: which axes, where they begin, and back from JSON."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core import jsontext
from tensorparity.core.closeup import Closeup, closeup_of


def test_a_large_picture_is_cut_around_the_worst_number() -> None:
    right = np.arange(2 * 40 * 30 * 3, dtype=np.float32).reshape(2, 40, 30, 3)
    given = right.copy()
    given[1, 35, 2, 1] += 0.5
    found = closeup_of(given, right, (1, 35, 2, 1))
    assert found is not None
    assert (found.axes, found.start, found.shape) == ((1, 2), (24, 0), (2, 40, 30, 3))
    assert (len(found.given), len(found.given[0])) == (16, 16)
    assert found.worst == (11, 2)
    assert found.apart[11][2] == 0.5
    assert sum(value > 0 for row in found.apart for value in row) == 1
    assert found.right[0][0] == right[1, 24, 0, 1]


@pytest.mark.parametrize(
    ("shape", "axes"), [((1, 7), (1,)), ((5,), (0,)), ((4, 3), (0, 1)), ((32, 4, 1), (0, 1)), ((9, 2, 3), (1, 2))]
)
def test_the_longest_axes_are_drawn_and_the_batch_only_where_it_must(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    found = closeup_of(np.zeros(shape), np.ones(shape), (0,) * len(shape))
    assert found is not None
    assert found.axes == axes
    assert found.is_curve is (len(axes) == 1)


def test_a_curve_is_cut_around_its_worst_point() -> None:
    right = np.linspace(0, 1, 300)
    found = closeup_of(np.where(right > 0.99, np.nan, right), right, (299,))
    assert found is not None
    assert (found.start, found.numbers, found.worst) == ((236,), 64, (0, 63))
    assert math.isnan(found.given[0][63])
    assert math.isinf(found.apart[0][63])


@pytest.mark.parametrize(
    "given", [np.float32(1), np.ones(1), np.array(["a", "b"]), np.ones(2, complex), np.ones((2, 2))]
)
def test_there_is_none_of_single_numbers_of_words_and_of_another_shape(given: np.ndarray) -> None:
    right = np.zeros(2) if given.size > 1 else np.zeros(given.shape)
    assert closeup_of(given, right, (0,) * given.ndim) is None


def test_it_comes_back_from_a_store() -> None:
    found = closeup_of(np.array([[1.0, np.inf], [3, 4]]), np.array([[1.0, 2], [3, 5]]), (0, 1))
    assert found is not None
    again = Closeup.from_json(jsontext.untag(jsontext.parse(jsontext.canonical(found.to_json()))))
    assert again == found
