"""A call that the library itself declares valid: whoever refuses it is wrong, unless he says that he has no such thing.

Who declares it is the call's label: the library's own tests, or the list of choices in its documentation. Nothing of
such a call may be changed, for nobody declares what it would become.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..core.case import ApiCall, Case
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.messages import says_no_kernel, says_unsupported
from ..core.oracle import Judged, Seen, Setup
from ..core.outcome import Failure, Outcome, Status
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Stage, Verdict
from .failure_search import ending_of
from .subjects import api_of, call_parameters

#: The name of this oracle, and of the label.
DECLARED_VALID = "declared_valid"
_DECLARED = "declared"


def declared(case: Case, by: str) -> Case:
    """A call as it is declared valid by somebody."""
    return replace(case, labels={_DECLARED: np.asarray([by], dtype=object)})


class DeclaredValid:
    """Every target is judged alone."""

    settings: ClassVar[tuple[str, ...]] = ()
    name = DECLARED_VALID

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        if _DECLARED not in seen.case.labels or not isinstance(seen.case.subject, ApiCall):
            return Judged()
        found = [_suspicion(seen, target, outcome) for target, outcome in seen.own.items() if is_refused(outcome)]
        passed = [
            Verdict(Judgement.PASS, (target,), f"{target} answers", stage=Stage.CALL) for target in seen.completed
        ]
        failed = [
            Verdict(Judgement.FAIL, s.targets, f"{s.targets[0]} refuses it", kind=s.kind, stage=s.stage) for s in found
        ]
        return Judged((*passed, *failed), tuple(found))


def is_refused(outcome: Outcome) -> bool:
    """It raised, and does not say that it lacks this."""
    return outcome.status is Status.RAISED and outcome.failure is not None and not is_a_lack(outcome.failure)


def is_a_lack(failure: Failure) -> bool:
    return says_unsupported(failure.type, failure.message) or says_no_kernel(failure.message)


def _suspicion(seen: Seen, target: str, outcome: Outcome) -> Suspicion:
    failure = outcome.failure
    assert failure is not None
    api, parameters = api_of(seen.case, seen.traits, (target,)) or "", call_parameters(seen.case)
    by = str(seen.case.labels[_DECLARED].ravel()[0])
    evidence = (ending_of(outcome, api, parameters), observed("declared-valid", api=api, by=by))
    diagnosis = Diagnosis(Class.DEFECT, (target,), api=api, parameters=parameters, evidence=evidence)
    return Suspicion(Kind.ERROR, diagnosis, seen.case, (target,), failure.type, Stage.CALL, oracle=DECLARED_VALID)
