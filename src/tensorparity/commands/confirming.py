"""One case, seen twice: what both looks agree on is believed, everything else is flaky."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.evidence import observed
from ..core.finding import Class
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..targets.selection import families_of
from ..triage.confirm import flaky, two_answers, unsteady
from ..triage.examine import Examined
from .opening import OpenCase

SOMETIMES = observed("sometimes")


def confirmed_fresh(opened: OpenCase, first: Examined) -> tuple[list[Suspicion], str]:
    """What a look in fresh workers says again of a case that is suspected of something, and why nothing is left."""
    if not first.judged.suspicions:
        return [], first.judged.undecided
    return suspicions_of_all([first, opened.look(fresh=True)])


def suspicions_of_all(looks: Sequence[Examined]) -> tuple[list[Suspicion], str]:
    """What all looks at a case say; what is not in each of them is flaky."""
    found: dict[str, list[Suspicion]] = {}
    for look in looks:
        for suspicion in {suspicion.signature: suspicion for suspicion in look.judged.suspicions}.values():
            found.setdefault(suspicion.signature, []).append(suspicion)
    outcomes = [look.own for look in looks]
    suspicions = [
        steady(same[0], outcomes)
        if len(same) == len(looks)
        else replace(same[0], diagnosis=flaky(same[0].diagnosis, SOMETIMES))
        for same in found.values()
    ]
    undecided = next((look.judged.undecided for look in looks if look.judged.undecided), "")
    return suspicions, "" if suspicions else undecided


def steady(suspicion: Suspicion, outcomes: Sequence[Mapping[str, Outcome]]) -> Suspicion:
    """The suspicion; where a suspect gave different answers in two looks, it says so."""
    if suspicion.diagnosis.klass is not Class.DEFECT or len(outcomes) < 2:
        return suspicion
    before, *others = outcomes
    suspects, families = suspicion.diagnosis.suspects, families_of(list(before))
    notes = [note for again in others for note in two_answers(suspects, families, before, again)]
    return replace(suspicion, diagnosis=unsteady(suspicion.diagnosis, *notes))
