"""Calls that a library declares valid: who refuses them, and who only lacks them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.rule import is_fixed
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.oracles.declared_valid import declared
from tensorparity.oracles.kinds import make_oracle

T, OTHER = "keras:jax", "keras:torch"
PLAIN = Case(ApiCall("keras.ops.mystery", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), {"x": np.ones(3, np.float32)})
CASE = declared(PLAIN, "a test")


def judged(case: Case, failure: Failure, status: Status = Status.RAISED) -> Judged:
    outcomes = {T: Outcome(T, status, failure=failure), OTHER: Outcome(OTHER, Status.COMPLETED)}
    return make_oracle("declared_valid", Setup(targets=(T, OTHER))).judge(Seen(case, (outcomes,)))


def test_whoever_refuses_it_is_wrong() -> None:
    found = judged(CASE, Failure("ValueError", "expects 4 axes"))
    (suspicion,) = found.suspicions
    assert suspicion.kind is Kind.ERROR
    assert suspicion.diagnosis.suspects == (T,)
    assert suspicion.exception == "ValueError"
    assert {verdict.targets: verdict.judgement for verdict in found.verdicts} == {
        (T,): Judgement.FAIL,
        (OTHER,): Judgement.PASS,
    }


@pytest.mark.parametrize(
    "failure", [Failure("NotImplementedError", "no"), Failure("RuntimeError", "\"f\" not implemented for 'Half'")]
)
def test_whoever_lacks_it_says_so(failure: Failure) -> None:
    assert not judged(CASE, failure).suspicions
    assert not judged(CASE, Failure("SIGSEGV", "died"), Status.CRASHED).suspicions


def test_nothing_of_it_may_be_changed() -> None:
    assert is_fixed(CASE)
    assert not is_fixed(PLAIN)
    assert judged(PLAIN, Failure("ValueError", "expects 4 axes")) == Judged()
