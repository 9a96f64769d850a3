from __future__ import annotations

import math

import numpy as np
import pytest

from tensorparity.core.errors import UsageError
from tensorparity.core.procedure import Recipe
from tensorparity.operators.losses.catalogue import LOSSES, evaluate_loss, loss


def value(name, labels, predictions, **params):
    found = evaluate_loss(Recipe(name, params), np.asarray(labels), np.asarray(predictions))
    assert found.value.shape == found.kappa.shape == ()
    assert found.kappa >= 0
    return float(found.value)


@pytest.mark.parametrize(
    ("name", "labels", "predictions", "params", "expected"),
    [
        ("MeanSquaredError", [[0.0, 1.0]], [[1.0, 3.0]], {}, 2.5),
        ("MeanAbsoluteError", [[0.0, 1.0]], [[1.0, 3.0]], {}, 1.5),
        ("BinaryCrossentropy", [[1.0], [0.0]], [[0.5], [0.5]], {}, math.log(2)),
        ("BinaryCrossentropy", [[1.0]], [[0.0]], {}, -math.log(1e-7)),
        ("BinaryCrossentropy", [[1.0]], [[0.0]], {"from_logits": True}, math.log(2)),
        ("BinaryCrossentropy", [[1.0]], [[-100.0]], {"from_logits": True}, 100.0),
        ("BinaryCrossentropy", [[1.0]], [[0.25]], {"label_smoothing": 1.0}, -0.5 * math.log(0.25 * 0.75)),
        ("CategoricalCrossentropy", [[0.0, 1.0]], [[0.25, 0.75]], {}, -math.log(0.75)),
        ("CategoricalCrossentropy", [[0.0, 1.0]], [[1.0, 3.0]], {}, -math.log(0.75)),
        ("CategoricalCrossentropy", [[0.0, 1.0]], [[0.0, math.log(3)]], {"from_logits": True}, -math.log(0.75)),
        ("CategoricalCrossentropy", [[0.0, 1.0]], [[0.5, 0.5]], {"label_smoothing": 0.1}, math.log(2)),
        ("SparseCategoricalCrossentropy", [1, 0], [[0.25, 0.75], [0.5, 0.5]], {}, -0.5 * math.log(0.375)),
        ("SparseCategoricalCrossentropy", [[1]], [[0.0, math.log(3)]], {"from_logits": True}, -math.log(0.75)),
    ],
)
def test_values_by_hand(name, labels, predictions, params, expected):
    assert value(name, labels, predictions, **params) == pytest.approx(expected, rel=1e-6)


def test_unknown_loss():
    with pytest.raises(UsageError, match="unknown loss 'NoSuch'; known are MeanSquaredError"):
        loss("NoSuch")


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_declaration(name):
    assert LOSSES[name].api == f"keras.losses.{name}"
    assert all(parameter.default in parameter.valid for parameter in LOSSES[name].parameters)
