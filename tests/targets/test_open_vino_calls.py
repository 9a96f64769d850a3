"""OpenVINO has no float64, so single functions in it are not its to be wrong about."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.outcome import Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.catalogue import find_operators
from tensorparity.targets.runner import open_runner


@pytest.mark.parametrize("target", ["openvino", "keras:openvino"])
@pytest.mark.parametrize(("dtype", "status"), [("float64", Status.UNSUPPORTED), ("float32", Status.COMPLETED)])
def test_float64_is_unsupported(dtype: str, status: Status, target: str) -> None:
    pytest.importorskip("openvino")
    (tanh,) = find_operators(("tanh",))
    case = Case(tanh.api_call({}), Procedure(goal=Goal.CALL), {"x": np.ones((1, 2), dtype)})
    with open_runner([target]) as runner:
        (outcome,) = runner.run_pairs([(case, target)])
    assert outcome.status is status, outcome.failure
