"""Which of several candidates becomes the finding, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.engines.predoo.batch import InputBatch
from tensorparity.engines.predoo.specials import special_batch
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.oracles.operator_notes import note
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examined

from .operator_runs import examined_call, findings_of

NORM = OPERATORS.get("l2_norm")
TARGET = "torch:eager"


class Fifth:
    """A target whose lengths are too long by a fifth."""

    targets = (TARGET,)

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        return [self.one(case) for case, _ in pairs]

    def one(self, case: Case) -> Outcome:
        x = case.inputs["x"]
        length = np.hypot.reduce(x.astype(np.float64), axis=-1) * 1.2
        return Outcome(TARGET, Status.COMPLETED, {"0": length.astype(x.dtype)})


def noted(dtype: str, row: list[float]) -> Examined:
    case = Case(NORM.api_call({}), Procedure(goal=Goal.CALL), {"x": np.array([row], dtype)})
    return examined_call(Fifth(), case)


def classes(*examined: Examined) -> list[tuple[Class, object]]:
    filed = findings_of(Fifth(), examined)
    return [(item.finding.diagnosis.klass, item.finding.diagnosis.parameters["dtype"]) for item in filed]


#: The squares underflow, in our own formula as well: nobody is to blame.
ILL = ("float32", [1e-30, 1e-30])
WRONG = ("float64", [3.0, 4.0])


def test_an_ill_conditioned_input_alone_is_a_remark() -> None:
    assert classes(noted(*ILL)) == [(Class.PRECISION, "float32")]


def test_it_does_not_hide_a_defect_in_another_dtype() -> None:
    assert classes(noted(*ILL), noted(*WRONG)) == [(Class.DEFECT, "float64")]


def test_the_value_that_is_told_is_the_one_that_was_judged_by() -> None:
    """In float64 arithmetic the squares vanish, and so would the length."""
    (item,) = findings_of(Fifth(), [noted("float64", [3e-200, 4e-200])])
    assert item.finding.diagnosis.klass is Class.PRECISION
    value = float(sentences(item.finding.diagnosis)[0].split(" = ")[1].split(",")[0])
    said = float(sentences(item.finding.diagnosis)[0].split(" says ")[1].split(" ")[0])
    assert said == pytest.approx(1.2 * value, rel=1e-6, abs=0.0)


def test_who_refuses_nan_is_not_blamed() -> None:
    """Torch's binary cross-entropy says that its inputs shall be between 0 and 1, which NaN is not."""
    case = _special().case(NORM, "float32")
    refusal = Outcome(TARGET, Status.RAISED, failure=Failure("RuntimeError", "no NaN, please"))
    refused = note(NORM, case, {TARGET: refusal}, traits_of([TARGET]))
    assert list(refused.refused) == [TARGET]
    assert not refused.problems
    death = Outcome(TARGET, Status.CRASHED, failure=Failure("SIGSEGV", "gone"))
    assert note(NORM, case, {TARGET: death}, traits_of([TARGET])).problems[TARGET].ended


def _special() -> InputBatch:
    rng = np.random.default_rng(0)
    return special_batch(NORM, "float32", NORM.shapes[0], {}, rng, 4)
