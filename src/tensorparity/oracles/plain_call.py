"""A call that kills the process, never ends, or fails an assertion inside the library: nothing else is looked at.

Inputs are looked into one by one: the first that ends so is the one that is shown. Running out of memory is no crash,
and a call that is given huge whole numbers may be busy for a long time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..core.case import ApiCall, Case
from ..core.endings import KIND_OF_ENDING
from ..core.finding import Class, Diagnosis
from ..core.oracle import Answer, Check, Judged, Seen
from ..core.outcome import Failure, Outcome, Status
from ..core.rows import one_row
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Stage, Verdict
from .base import Asking, Steps, Stepwise
from .call_rows import rows_of
from .failure_search import ending_of
from .subjects import api_of, call_parameters

#: The name of this oracle.
PLAIN_CALL = "plain_call"
#: How libraries say that they have found a fault of their own.
_OWN_FAULT = re.compile(
    r"INTERNAL ASSERT|please (?:report|file|open) (?:a|this|an) (?:bug|issue)|this is a bug|should never happen"
    r"|report (?:it|this) (?:as a bug|to)|internal error",
    re.IGNORECASE,
)
_NO_MEMORY = re.compile(
    r"bad_alloc|out of memory|allocate memory|alloc(?:ation)? fail|RESOURCE_EXHAUSTED|OOM when|length_error",
    re.IGNORECASE,
)
_DEADLY = (Status.CRASHED, Status.TIMED_OUT)
#: Whole numbers beyond this ask for work, or memory, that takes its time.
_HUGE = 2**20


class PlainCall(Stepwise):
    """Every target is judged alone."""

    settings: ClassVar[tuple[str, ...]] = ()
    name = PLAIN_CALL

    def steps(self, seen: Seen) -> Steps:
        found: list[Suspicion] = []
        for target, outcome in seen.own.items():
            case, ended = yield from _worst_row(seen.case, target, outcome)
            if ended is not None:
                found.append(_suspicion(seen, case, ended))
        return Judged(tuple(map(_verdict, found)), tuple(found))


def _worst_row(case: Case, target: str, outcome: Outcome) -> Asking[tuple[Case, Outcome | None]]:
    """The input that ends so, and how; None where none does when it is alone."""
    if outcome.status not in _DEADLY:
        return next(_own_faults(case, outcome), (case, None))
    if not _is_the_librarys(case, outcome):
        return case, None
    if case.procedure.rows is None:
        return case, outcome
    for row in range(case.procedure.rows):
        alone = one_row(case, row)
        answers: Sequence[Answer] = yield [Check(alone, (target,))]
        again = answers[0].outcomes[target]
        if again.status is outcome.status and _is_the_librarys(alone, again):
            return alone, again
    return case, None


def _own_faults(case: Case, outcome: Outcome) -> Iterator[tuple[Case, Outcome]]:
    """Inputs at which the library says itself that it is at fault."""
    if outcome.status not in (Status.COMPLETED, Status.RAISED):
        return
    for place, row in enumerate(rows_of(case, outcome)):
        if row.failure is not None and _OWN_FAULT.search(row.failure.message):
            alone = one_row(case, place) if case.procedure.rows is not None else case
            yield alone, Outcome(outcome.target, Status.RAISED, failure=row.failure, record=outcome.record)


def _is_the_librarys(case: Case, outcome: Outcome) -> bool:
    failure = outcome.failure or Failure("", "")
    if _NO_MEMORY.search(f"{failure.type} {failure.message} {failure.detail}"):
        return False
    return outcome.status is not Status.TIMED_OUT or not _is_huge(case)


def _is_huge(case: Case) -> bool:
    whole = (array.astype(np.float64) for array in case.inputs.values() if array.dtype.kind in "iu" and array.size)
    return any(bool(np.abs(array).max() > _HUGE) for array in whole)


def _verdict(suspicion: Suspicion) -> Verdict:
    said = f"{suspicion.targets[0]}: {suspicion.kind.value} on a plain call"
    return Verdict(Judgement.FAIL, suspicion.targets, said, kind=suspicion.kind, stage=Stage.CALL)


def _suspicion(seen: Seen, case: Case, ended: Outcome) -> Suspicion:
    assert isinstance(case.subject, ApiCall)
    parameters, target = call_parameters(case), ended.target
    api = api_of(case, seen.traits, (target,))
    failure = ended.failure or Failure(ended.status.value, "")
    ended = replace(ended, failure=failure)
    diagnosis = Diagnosis(
        Class.DEFECT,
        (target,),
        api=api,
        parameters=parameters,
        evidence=(ending_of(ended, api or "", parameters),),
    )
    exception = failure.type if ended.status is not Status.TIMED_OUT else ""
    kind = KIND_OF_ENDING[ended.status]
    return Suspicion(kind, diagnosis, case, (target,), exception, Stage.CALL, oracle=PLAIN_CALL)
