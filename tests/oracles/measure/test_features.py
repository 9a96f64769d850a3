"""What is special about the inputs of a reduced case."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.verdict import Stage
from tensorparity.oracles.measure.features import features


def case(values: object, dtype: str = "float32", op: str = "ReLU") -> Case:
    build = GraphBuilder()
    array = np.asarray(values, dtype)
    x = build.input("x", array.shape[1:], dtype)
    return Case(build.build(build.add(op, x)), inputs={"x": array})


@pytest.mark.parametrize(
    ("values", "dtype", "found"),
    [
        ([[1, -2, 0.5]], "float32", ()),
        ([[np.nan, 1]], "float32", ("NaN",)),
        ([[np.inf, np.nan]], "float32", ("NaN", "infinity")),
        ([[1e30]], "float32", ("overflow",)),
        ([[1e30]], "float64", ()),
        ([[1e-40]], "float32", ("subnormal",)),
        (np.ones((1, 0)), "float32", ("empty",)),
        ([[2**31 - 1]], "int32", ("integer extreme",)),
        ([[0, 1]], "uint8", ()),
    ],
)
def test_features(values: object, dtype: str, found: tuple[str, ...]) -> None:
    assert features(case(values, dtype), Stage.FORWARD) == found


def test_a_tie_counts_backward_where_it_can_matter() -> None:
    pooled = case(np.ones((1, 2, 2, 1)), op="MaxPooling2D")
    assert features(pooled, Stage.BACKWARD) == ("tie",)
    assert features(pooled, Stage.FORWARD) == ()
    assert features(case([[1, 1]]), Stage.BACKWARD) == ()
