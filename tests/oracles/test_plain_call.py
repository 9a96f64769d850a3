"""Plain calls that kill the process, never end, or fail an assertion of the library's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.oracle import Answer, Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.oracles.kinds import make_oracle

T = "torch:eager"
CALL = ApiCall("torch.mystery", (ArrayArg("x"),))
#: Row 2 is the one that is not finite.
X = np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, 1.0]], np.float32)
STACKED = Case(CALL, Procedure(goal=Goal.CALL, rows=3), {"x": X})


def ended(given: Case, status: Status, failure: Failure) -> Outcome:
    """Whoever is given NaN ends so; with it among others, all do."""
    if np.isnan(given.inputs["x"].astype(float)).any() or given.inputs["x"].dtype.kind == "i":
        return Outcome(T, status, failure=failure)
    return Outcome(T, Status.COMPLETED, outputs={"0": np.zeros(2)})


def judged(case: Case, status: Status, failure: Failure, alone: Status | None = None) -> Judged:
    judge = make_oracle("plain_call", Setup(targets=(T,)))
    seen = Seen(case, ({T: ended(case, status, failure)},), ({T: case},))
    found = judge.judge(seen)
    while found.checks:
        answers = [Answer(c, {T: ended(c.case, alone or status, failure)}) for c in found.checks]
        seen = replace(seen, answers=(*seen.answers, *answers))
        found = judge.judge(seen)
    return found


@pytest.mark.parametrize(("status", "kind"), [(Status.CRASHED, Kind.CRASH), (Status.TIMED_OUT, Kind.HANG)])
def test_the_first_input_that_ends_so_alone_is_shown(status: Status, kind: Kind) -> None:
    found = judged(STACKED, status, Failure("SIGSEGV", "the worker was killed"))
    (suspicion,) = found.suspicions
    assert suspicion.kind is kind
    assert suspicion.diagnosis.suspects == (T,)
    assert suspicion.oracle == "plain_call"
    assert suspicion.case.procedure.rows is None
    assert np.isnan(suspicion.case.inputs["x"]).any()
    assert found.verdicts[0].judgement is Judgement.FAIL


def test_what_ends_well_when_it_is_alone_is_nothing() -> None:
    slow = judged(STACKED, Status.TIMED_OUT, Failure("cpu", "too long"), alone=Status.COMPLETED)
    assert slow.suspicions == slow.verdicts == ()


@pytest.mark.parametrize("words", ["std::bad_alloc", "DefaultCPUAllocator: can't allocate memory"])
def test_running_out_of_memory_is_no_crash(words: str) -> None:
    assert not judged(STACKED, Status.CRASHED, Failure("SIGABRT", "aborted", detail=words)).suspicions
    assert not judged(STACKED, Status.OUT_OF_MEMORY, Failure("memory", "limit")).suspicions


def test_huge_numbers_may_ask_for_long_work() -> None:
    huge = replace(STACKED, inputs={"x": np.full((3, 2), 2**40)})
    assert not judged(huge, Status.TIMED_OUT, Failure("cpu", "too long")).suspicions
    assert judged(huge, Status.CRASHED, Failure("SIGFPE", "killed")).suspicions


def test_a_library_that_says_it_is_at_fault_is_believed() -> None:
    said = "x.numel() INTERNAL ASSERT FAILED at x.cpp:3, please report a bug to PyTorch."
    rows = {"1": {"type": "RuntimeError", "message": said}, "0": {"type": "RuntimeError", "message": "bad shape"}}
    outcome = Outcome(T, Status.COMPLETED, outputs={"2/0": np.zeros(2)}, reply={"rows": rows})
    found = make_oracle("plain_call", Setup(targets=(T,))).judge(Seen(STACKED, ({T: outcome},), ({T: STACKED},)))
    (suspicion,) = found.suspicions
    assert suspicion.kind is Kind.ERROR
    assert suspicion.exception == "RuntimeError"
    assert suspicion.case.inputs["x"].tolist() == [3.0, 4.0]


def test_a_refusal_is_nothing() -> None:
    assert not judged(STACKED, Status.RAISED, Failure("ValueError", "expects two axes")).suspicions
    assert not judged(STACKED, Status.UNSUPPORTED, Failure("Unsupported", "no such thing")).suspicions
