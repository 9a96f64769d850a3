"""What libraries' own tests, which ship with them, expect of functions of the catalogue: a few of each, as data.

A reference is written from the documentation. Where it contradicts a test that the library ships, code and test agree
against the documentation, and it is that which is wrong, or misleading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..core.arrays import Array
from ..core.errors import TensorParityError
from ..core.jsontext import Json
from .catalogue import layer, layer_names
from .losses.catalogue import LOSSES
from .spec import ShapeError

#: Tests expect decimals of so few digits.
_DIGITS = 1e-4


@dataclass(frozen=True, slots=True)
class ShippedTest:
    """One expectation.

    Args:
        api: what is called, as users name it.
        arrays: a layer's inputs; labels and predictions of a loss.
        place: file and test, below the package.
    """

    api: str
    arrays: tuple[Json, ...]
    expected: Json
    place: str
    params: Mapping[str, Json] = field(default_factory=dict)

    @property
    def contradicted(self) -> bool:
        """Whether the catalogue's reference, and so the documentation, says something else."""
        value = self._reference()
        wanted = np.asarray(self.expected, np.float64)
        if value is None:
            return False
        return value.shape != wanted.shape or not np.allclose(value, wanted, rtol=_DIGITS, atol=_DIGITS)

    def _reference(self) -> Array | None:
        """A layer's output or a loss by the catalogue; None where it has none of these."""
        arrays = [np.asarray(array, np.float64) for array in self.arrays]
        loss = next((known for known in LOSSES.values() if known.api == self.api), None)
        spec = next((layer(name) for name in layer_names() if self.api == f"keras.layers.{name}"), None)
        try:
            if loss is not None:
                return np.asarray(loss.value(self.params, arrays[0], arrays[1]).value)
            if spec is not None:
                return np.asarray(spec.reference(spec.complete(self.params), arrays, {})[0].value)
        except (TensorParityError, ShapeError, KeyError):
            return None
        return None


_RELU = "src/layers/activations/relu_test.py, {}"
_LOSSES = "src/losses/losses_test.py, {}"
_TRUTHS, _GUESSES = [[1, 0, 1, 0], [0, 1, 0, 1]] * 2, [[0, 1, 0, 1], [1, 0, 1, 1]] * 2
SHIPPED_TESTS = (
    ShippedTest(
        "keras.layers.ReLU", ([-10, -5, 0, 5, 10],), [0, 0, 0, 5, 10], _RELU.format("test_normal_relu_correctness"),
        {"max_value": 10, "negative_slope": 0.0, "threshold": 0},
    ),
    ShippedTest(
        "keras.layers.ReLU", ([-10, -5, 0, 5, 10],), [-5, -2.5, 0, 5, 10], _RELU.format("test_leaky_relu_correctness"),
        {"max_value": 10, "negative_slope": 0.5, "threshold": 0},
    ),
    ShippedTest(
        "keras.layers.ReLU", ([6, 7, 0, 5, 10],), [6, 7, 0, 0, 8], _RELU.format("test_threshold_relu_correctness"),
        {"max_value": 8, "negative_slope": 0.0, "threshold": 5},
    ),
    ShippedTest(
        "keras.losses.Tversky", (_TRUTHS, _GUESSES), 0.77777773, _LOSSES.format("TverskyTest.test_binary_segmentation"),
    ),
    ShippedTest(
        "keras.losses.Tversky", (_TRUTHS, _GUESSES), 0.7916667,
        _LOSSES.format("TverskyTest.test_binary_segmentation_custom_coefficients"), {"alpha": 0.2, "beta": 0.8},
    ),
)  # fmt: skip


def test_against_documentation(api: str, names: frozenset[str]) -> ShippedTest | None:
    """A shipped test of a function, given these arguments at least, that its documentation contradicts."""
    own = (test for test in SHIPPED_TESTS if test.api == api and names <= set(test.params))
    return next((test for test in own if test.contradicted), None)
