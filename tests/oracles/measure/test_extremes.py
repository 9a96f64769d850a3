"""Numbers whose squares are none in float32: a formula that all targets compute alike is nobody's defect there."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Procedure
from tensorparity.oracles.screening import Screening
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)


def _graph() -> LayerGraph:
    build = GraphBuilder("small")
    return build.build(build.add("Activation", build.input("x", (2,)), name="end", activation="squareplus"))


def _doubted(values: list[float], **answers: list[float]) -> set[str]:
    case = Case(_graph(), Procedure(), {"x": np.array([values], np.float32)})
    outcomes = {}
    for target, answer in answers.items():
        value = np.array([answer], np.float32)
        outcomes[target] = Outcome(target, Status.COMPLETED, {"end": value}, Trace(nodes={"end#0": value}))
    return {target for trial in Screening(case, outcomes, traits=TRAITS).forward() for target in trial.suspects}


@pytest.mark.parametrize("extreme", [1e20, np.inf])
def test_what_all_overflow_on_is_not_doubted(extreme: float) -> None:
    wrong = [np.inf if np.isfinite(extreme) else 0.0, 1.0]
    assert not _doubted([extreme, 0.0], a=wrong, b=wrong)


def test_who_overflows_where_another_does_not_is() -> None:
    assert _doubted([1e20, 0.0], a=[np.inf, 1.0], b=[1e20, 1.0]) == {"a"}


def test_what_all_have_wrong_on_ordinary_numbers_is_doubted() -> None:
    assert _doubted([3.0, 0.0], a=[9.0, 1.0], b=[9.0, 1.0]) == {"a", "b"}
