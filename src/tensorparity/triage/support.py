"""What is supported: a target that refuses what its documentation rules out, or leaves open, is not wrong."""

from __future__ import annotations

from dataclasses import replace

from ..core.finding import Class, Diagnosis
from ..core.messages import says_unsupported
from ..core.outcome import Outcome, Status
from .freedoms import Freed, excused


def classed_ending(diagnosis: Diagnosis, outcome: Outcome, freed: Freed | None = None) -> Diagnosis:
    """A bad ending as what it is: the library's own word that it has no such thing, a documented freedom, or a defect.

    Only an exception can be a refusal; a process that dies or hangs refuses nothing.
    """
    failure = outcome.failure
    if outcome.status is not Status.RAISED or failure is None:
        return diagnosis
    if freed is not None and freed.freedom.raises:
        return excused(diagnosis, freed.freedom)
    if says_unsupported(failure.type, failure.message):
        said = f"{outcome.target} says that it has no such thing"
        return replace(diagnosis, klass=Class.UNSUPPORTED, evidence=(*diagnosis.evidence, said))
    return diagnosis
