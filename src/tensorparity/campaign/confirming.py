"""One case, seen twice: what both looks agree on is believed, everything else is flaky."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.finding import Class
from ..core.oracle import Judged
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..triage.confirm import flaky, two_answers, unsteady
from .examining import Outcomes, examine_case
from .opening import OpenCase
from .selection import families_of

SOMETIMES = "failed in some repeats only"


def examined_fresh(opened: OpenCase) -> tuple[Judged, Outcomes]:
    """A look at an opened case in workers of its own, every cache off."""
    return examine_case(
        opened.runner, opened.case, opened.targets, fresh=True, given=opened.given, convicted=opened.file.suspects
    )


def confirmed_fresh(opened: OpenCase, checked: Judged, outcomes: Outcomes) -> tuple[list[Suspicion], str]:
    """What a look in fresh workers says again of a case that is suspected of something, and why nothing is left."""
    if not checked.suspicions:
        return [], checked.undecided
    again, fresh = examined_fresh(opened)
    return agreed([checked, again], [outcomes, fresh])


def agreed(examined: Sequence[Judged], outcomes: Sequence[Mapping[str, Outcome]] = ()) -> tuple[list[Suspicion], str]:
    """What all looks say; what is not in each of them is flaky.

    Args:
        outcomes: what the targets did in each look, where it is known.
    """
    found: dict[str, list[Suspicion]] = {}
    for checked in examined:
        for suspicion in {suspicion.signature: suspicion for suspicion in checked.suspicions}.values():
            found.setdefault(suspicion.signature, []).append(suspicion)
    suspicions = [
        steady(same[0], outcomes)
        if len(same) == len(examined)
        else replace(same[0], diagnosis=flaky(same[0].diagnosis, SOMETIMES))
        for same in found.values()
    ]
    undecided = next((checked.undecided for checked in examined if checked.undecided), "")
    return suspicions, "" if suspicions else undecided


def steady(suspicion: Suspicion, outcomes: Sequence[Mapping[str, Outcome]]) -> Suspicion:
    """The suspicion; where a suspect gave different answers in two looks, it says so."""
    if suspicion.diagnosis.klass is not Class.DEFECT or len(outcomes) < 2:
        return suspicion
    before, *others = outcomes
    suspects, families = suspicion.diagnosis.suspects, families_of(list(before))
    notes = [note for again in others for note in two_answers(suspects, families, before, again)]
    return replace(suspicion, diagnosis=unsteady(suspicion.diagnosis, *notes))
