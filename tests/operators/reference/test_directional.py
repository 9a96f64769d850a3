"""One-sided derivatives of references against derivatives worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorparity.core.arrays import Array
from tensorparity.operators.reference.directional import STEP, one_sided, scales
from tensorparity.operators.reference.rounding import exact
from tensorparity.operators.spec import Evaluation


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_a_product_of_two_arrays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, w, dx, dw = (rng.normal(size=shape) for shape in ((3, 4), (4, 2), (3, 4), (4, 2)))
    slope = one_sided(lambda arrays: exact(np.tanh(arrays[0] @ arrays[1])), [x, w], [dx, dw], exact(np.tanh(x @ w)))
    assert slope is not None
    expected = (1 - np.tanh(x @ w) ** 2) * (dx @ w + x @ dw)
    np.testing.assert_allclose(slope.values, expected, atol=1e-5)
    assert np.abs(slope.values - expected).sum() <= slope.noise
    assert slope.size == pytest.approx(np.abs(expected).sum(), abs=1e-4)


def kinked(arrays: Sequence[Array]) -> Evaluation:
    """Slope 3 above 0, 1 below, and curved on both sides."""
    x = arrays[0]
    return exact(np.where(x >= 0, 3.0 * x + x**2, x - x**2))


@pytest.mark.parametrize(("direction", "expected"), [(1.0, 3.0), (2.0, 6.0), (-1.0, -1.0), (-0.5, -0.5)])
def test_each_side_of_a_kink(direction: float, expected: float) -> None:
    slope = one_sided(kinked, [np.zeros(1)], [np.full(1, direction)], exact(np.zeros(1)))
    assert slope is not None
    assert slope.values[0] == pytest.approx(expected, rel=1e-7)


def test_curvature_is_extrapolated_away() -> None:
    """With a curvature that one difference alone would show."""
    steep = 2.0**20
    slope = one_sided(lambda arrays: exact(steep * arrays[0] ** 2), [np.zeros(1)], [np.ones(1)], exact(np.zeros(1)))
    assert slope is not None
    assert steep * STEP > 1e-4
    assert slope.values[0] == pytest.approx(0.0, abs=1e-12)


def test_what_does_not_move_has_no_noise() -> None:
    at, middle = [np.array([2.0, 1e9])], exact(np.array([2.0, 0.0]))
    slope = one_sided(lambda arrays: exact(arrays[0] * [1.0, 0.0]), at, [np.ones(2)], middle)
    assert slope is not None
    assert slope.values[1] == 0.0
    assert 0 < slope.noise < 1e-4


def test_not_finite_on_the_way_is_no_slope() -> None:
    def root(arrays: Sequence[Array]) -> Evaluation:
        return exact(np.sqrt(arrays[0]))

    assert one_sided(root, [np.zeros(1)], [-np.ones(1)], exact(np.zeros(1))) is None
    assert one_sided(root, [np.ones(1)], [-np.ones(1)], exact(np.ones(1))) is not None


def test_how_far_numbers_may_move() -> None:
    assert scales(np.array([0.0, -4.0, 0.5, 0.25, np.inf])).tolist() == [0.25, 4.0, 0.5, 0.25, np.inf]
    assert scales(np.array([[0.0, -3.0]])).tolist() == [[3.0, 3.0]]
    assert scales(np.array([0.0])).tolist() == [1.0]
    assert scales(np.array([0.0, np.inf])).tolist() == [1.0, np.inf]
