"""What `precision` refuses to begin, which shapes it tries, and which run a report shows."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.commands.precision import PrecisionSettings, precision
from tensorparity.core.errors import UsageError
from tensorparity.engines.predoo.batch import InputBatch
from tensorparity.engines.predoo.turns import Turns
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.oracles.measure.operator_errors import measure_instances


def _settings(**given: object) -> PrecisionSettings:
    return PrecisionSettings(targets=["tensorflow:eager"], measure="paper", **given)  # type: ignore[arg-type]


def test_operators_whose_output_is_no_input_are_not_repeated() -> None:
    with pytest.raises(UsageError, match="the output of sum is no input"):
        precision(_settings(operators=("conv2d", "relu", "sum"), times=2))


def test_one_precision_has_nothing_to_be_compared_with() -> None:
    with pytest.raises(UsageError, match="more than one --dtype"):
        _settings(dtypes=("float32",)).check()


def test_an_overflow_is_no_difference() -> None:
    errors = measure_instances(np.array([[np.inf, 1.0], [2.0, 1.0]], np.float16), np.array([[1e6, 1.0], [2.5, 1.0]]))
    assert errors.linf[0] == 0.0, "of the other element"
    assert errors.overflows.tolist() == [True, False]
    assert errors.linf[1] == 0.5


def test_inputs_that_did_worst_are_moved_within_their_domain() -> None:
    operator = OPERATORS.get("bce")
    engine = Turns(0)
    highest = {operand.name: np.full((16, 4), min(operand.high, 1.0)) for operand in operator.operands}
    engine._worst["bce/float32"] = (0.0, highest)
    batch = InputBatch({}, {name: array.copy() for name, array in highest.items()}, tuple(range(16)))
    moved = engine._beside(operator, "float32", batch, "bce/float32", np.random.default_rng(0))
    for operand in operator.operands:
        assert moved.arrays[operand.name].max() <= operand.high
        assert moved.arrays[operand.name].min() >= operand.low
