"""The measure itself: what is off is seen, what is uncertain is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.operators.reference.rounding import exact
from tensorparity.operators.spec import Evaluation

from .measure import BOUND, draw_direction, gradient_error, scaled_error, slope

X = {"x": np.array([0.75, -1.5, 2.0])}
ONES = {"x": np.ones(3)}


def test_errors_are_scaled_by_the_terms():
    sums = Evaluation(np.array([1.0]), np.array([99.0]))
    assert scaled_error(np.array([1.0 + 1e-10]), sums) == pytest.approx(1e-12, rel=1e-3)
    assert scaled_error(np.array([1.0]), sums) == 0.0


@pytest.mark.parametrize("actual", [np.array([np.nan, 2.0]), np.array([np.inf, 2.0]), np.array([1.0])])
def test_other_shapes_and_other_infinities_are_infinitely_wrong(actual):
    assert scaled_error(actual, exact(np.array([1.0, 2.0]))) == np.inf


def test_equal_infinities_and_flushed_numbers_are_equal():
    true = exact(np.array([np.nan, -np.inf, 1e-310]))
    assert scaled_error(np.array([np.nan, -np.inf, 0.0]), true) == 0.0


def curve(arrays):
    return (exact(np.exp(arrays["x"]) * np.sin(arrays["x"])),)


def test_the_slope_of_a_curve():
    found = slope(curve, X, ONES)
    x = X["x"]
    np.testing.assert_allclose(found.values, np.exp(x) * (np.sin(x) + np.cos(x)), rtol=1e-13)
    assert np.all(found.doubt < BOUND)


@pytest.mark.parametrize("distance", [0.0, 1e-9, 1e-3, 0.02])
def test_a_kink_is_stepped_between_or_doubted(distance):
    """Of |x| + x^2, beside the kink at 0."""
    at = {"x": np.array([distance])}
    found = slope(lambda arrays: (exact(np.abs(arrays["x"]) + arrays["x"] ** 2),), at, {"x": np.ones(1)})
    right = abs(found.values[0] - (1.0 + 2.0 * distance)) < BOUND
    assert right or found.doubt[0] > BOUND
    assert right == (distance > 1e-4)


def test_a_kink_that_both_ends_have_passed_is_doubted_or_seen():
    """The larger of t^2 - 1e-4 and 0 is flat at 0.001, however far both ends of a long step are up the curve."""
    at = {"x": np.array([0.001])}
    found = slope(lambda arrays: (exact(np.maximum(arrays["x"] ** 2 - 1e-4, 0.0)),), at, {"x": np.ones(1)})
    assert abs(found.values[0]) < BOUND


def test_a_gradient_that_is_off_is_seen():
    x = X["x"]
    right = {"x": np.exp(x) * (np.sin(x) + np.cos(x))}
    found = slope(curve, X, ONES)
    assert gradient_error(found, ONES, [np.ones(3)], right) < BOUND
    off = {"x": right["x"] + np.array([0.0, 1e-9, 0.0])}
    assert gradient_error(found, ONES, [np.ones(3)], off) > BOUND


def test_directions_stay_inside_of_the_domain():
    chances = {"p": np.array([0.001, 0.4, 0.999])}
    moved = draw_direction(chances, ["p"], np.random.default_rng(0), 1.0, relative=True)["p"]
    assert np.all(moved != 0)
    assert np.all(chances["p"] + np.abs(moved) / 8 < 1)
    assert np.all(chances["p"] - np.abs(moved) / 8 > 0)
