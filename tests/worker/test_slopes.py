"""Gradients by slopes: which gradients differences are held against, on functions in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorparity.worker.adapters.call_runs import cotangent
from tensorparity.worker.adapters.slopes import by_slopes
from tensorparity.worker.contract import Unsupported


class _NumPy:
    """The ways of a library whose gradient is what it is told, times the cotangent."""

    def __init__(self, gradient: float) -> None:
        self._gradient = gradient

    def pulled_back(self, way: Any, function: Any, tensors: dict[str, Any], order: int) -> tuple[Any, Any]:
        values = function(tensors)
        return values, {"x": cotangent(tensors["x"].shape) * self._gradient}

    def to_numpy(self, tensor: Any) -> Any:
        return np.asarray(tensor)

    def to_tensor(self, array: Any) -> Any:
        return array

    def leaves(self, values: Any) -> list[Any]:
        return [values]


def _judged(function: Callable[[Any], Any], x: float, gradient: float) -> float:
    """By what factor of the cotangent the slopes replace the gradient."""
    given = np.array([x])
    _, found = by_slopes(_NumPy(gradient), lambda tensors: function(tensors["x"]), {"x": given})
    return float(found["x"][0] / cotangent(given.shape)[0])


@pytest.mark.parametrize(
    ("function", "x", "gradient", "truth"),
    [
        (np.square, 3.0, 6.0, 6.0),
        (np.square, 3.0, 5.0, 6.0),
        (np.zeros_like, 0.5, 100.0, 0.0),
        (np.zeros_like, 0.5, np.nan, 0.0),
        (lambda x: 1e9 * x, 1.0, 2e9, 1e9),
    ],
)
def test_a_gradient_is_held_against_slopes(function: Any, x: float, gradient: float, truth: float) -> None:
    assert _judged(function, x, gradient) == pytest.approx(truth, rel=1e-4, abs=1e-4)


def test_a_period_that_is_shorter_than_the_step_has_no_slope() -> None:
    """The remainder of a huge number: its right gradient is huge, and no difference of remainders shows it."""
    beside = np.array([1e20])

    def remainder(x: Any) -> Any:
        return np.concatenate([np.fmod(1e20, x), beside])  # the second result makes the noise large

    assert _judged(remainder, -1.0, 1e20) == pytest.approx(1e20, rel=1e-12)


def test_what_makes_fewer_digits_of_float64_has_no_slopes() -> None:
    with pytest.raises(Unsupported):
        _judged(lambda x: np.square(x).astype(np.float32), 3.0, 5.0)
