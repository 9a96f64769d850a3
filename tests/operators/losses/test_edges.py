"""Every declared loss at the edges, against vectors computed by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tensorparity.operators.losses.catalogue import LOSSES, loss

from ..vectors.losses import VECTORS, LossVector

#: Losses whose predictions are chances: there is such a thing as being certain.
CHANCES = sorted(name for name, spec in LOSSES.items() if spec.predictions in ("chances", "probabilities"))


def _array(given: Any, *, whole: bool = False) -> np.ndarray:
    dtype = np.int32 if whole else np.float64
    return np.zeros((0, *given[1:]), dtype) if isinstance(given, tuple) else np.array(given, dtype)


def _found(name: str, vector: LossVector) -> np.ndarray:
    labels = _array(vector.labels, whole=loss(name).sparse)
    with np.errstate(all="ignore"):
        return np.asarray(loss(name).each(vector.params, labels, _array(vector.predictions)).value)


@pytest.mark.parametrize("name", list(LOSSES))
def test_a_loss(name: str) -> None:
    wrong = []
    for vector in VECTORS[name]:
        found, true = _found(name, vector), np.asarray(vector.value, np.float64)
        if found.shape != true.shape or not all(map(_near, found.ravel().tolist(), true.ravel().tolist())):
            wrong.append((vector, found.tolist()))
    assert not wrong


def _near(found: float, true: float) -> bool:
    if not math.isfinite(true) or not math.isfinite(found):
        return found == true or (math.isnan(found) and math.isnan(true))
    return math.isclose(found, true, rel_tol=1e-8, abs_tol=0.0 if true else 1e-12)


def _numbers(name: str) -> Iterator[float]:
    for vector in VECTORS[name]:
        yield from _array(vector.predictions).ravel().tolist()


def test_every_loss_is_asked() -> None:
    assert set(VECTORS) == set(LOSSES)


@pytest.mark.parametrize("name", list(LOSSES))
def test_about_what_is_no_number_and_about_nothing(name: str) -> None:
    numbers = list(_numbers(name))
    assert any(map(math.isnan, numbers))
    assert any(map(math.isinf, numbers))
    assert any(not _array(vector.predictions).size for vector in VECTORS[name])


@pytest.mark.parametrize("name", CHANCES)
def test_about_certainty(name: str) -> None:
    """A label that is given no chance at all."""
    certain = [
        vector
        for vector in VECTORS[name]
        if not isinstance(vector.predictions, tuple) and set(np.ravel(vector.predictions)) <= {0.0, 1.0}
    ]
    assert any(np.max(_found(name, vector)) > 0.9 for vector in certain)
