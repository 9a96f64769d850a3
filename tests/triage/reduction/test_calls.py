"""Calls are reduced to their default axis, so that one defect is one signature along whatever axis it was met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.oracle import Judged
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.triage.reduction.calls import shrink_call
from tensorparity.triage.reduction.reducer import Reduction, ReductionBudget, reduce_case


def reduced(axis: int, wrong_without_axis: bool = True) -> Reduction:
    """Of a function that is wrong wherever two equal numbers follow each other along its axis."""
    x = np.array([[[1.0, 2.0], [1.0, 3.0]]], np.float32).swapaxes(1, axis)
    case = Case(ApiCall("keras.ops.f", (ArrayArg("x"),), {"axis": axis}), Procedure(goal=Goal.CALL), {"x": x})

    def judged(case: Case) -> Judged:
        call = case.subject
        assert isinstance(call, ApiCall)
        along = call.kwargs.get("axis", -1)
        wrong = (np.diff(case.inputs["x"], axis=along) == 0).any() and ("axis" in call.kwargs or wrong_without_axis)
        diagnosis = Diagnosis(Class.DEFECT, ("a",), api="keras.ops.f")
        return Judged(suspicions=(Suspicion(Kind.INCONSISTENCY, diagnosis, case, ("a", "b")),) if wrong else ())

    def check(cases: Sequence[Case]) -> list[Judged]:
        return [judged(case) for case in cases]

    (first,) = judged(case).suspicions
    return reduce_case(case, first.key, check, [("shrink call", shrink_call)], ReductionBudget())


@pytest.mark.parametrize("axis", [1, -2, 0])
def test_an_axis_becomes_the_last_one(axis: int) -> None:
    call = reduced(axis).case.subject
    assert isinstance(call, ApiCall)
    assert dict(call.kwargs) == {}


def test_what_fails_along_that_axis_alone_keeps_it() -> None:
    call = reduced(1, wrong_without_axis=False).case.subject
    assert isinstance(call, ApiCall)
    assert dict(call.kwargs) == {"axis": 1}
