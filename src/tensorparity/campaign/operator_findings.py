"""From the suspicions of operators to findings in the store, some operators at a time: what is confirmed is kept."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core.engine import Ask
from ..core.finding import Class, Finding
from ..core.messages import gist
from ..core.oracle import Judged
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..operators.calls.native import case_operator
from ..store.database import Store
from ..targets.faults import Fault
from ..triage.examine import Examined, Examiner
from ..triage.operator_suspicions import Distinct, Sighting, distinct
from .filing import file_findings, make_finding
from .reducing import Preparation, Prepared, ReducingSettings

ENGINE = "predoo"
#: Remarks and documented freedoms say most on the smallest input, too; the scripts of a run have so many seconds.
REDUCING = ReducingSettings(
    seconds=math.inf,
    classes=frozenset([Class.DEFECT, Class.PRECISION, Class.SPECIFICATION]),
    script_seconds=1200.0,
)


def sightings_of(examined: Examined) -> list[Sighting]:
    """The suspicions of one call of an operator."""
    operator = case_operator(examined.case)
    assert operator is not None
    finite = examined.judged.facts.get("finite", ())
    return [
        Sighting(operator.name, s, any(name in finite for name in s.diagnosis.suspects))
        for s in examined.judged.suspicions
    ]


@dataclass
class Filing:
    """Findings in the store.

    Args:
        outcomes: one of every target, for its versions.
        known: findings, by their ids, that need not be confirmed again.
        undecided: what could not be judged, and why, a line each.
    """

    examiner: Examiner
    preparation: Preparation
    store: Store
    campaign: int
    faults: Mapping[str, Fault]
    outcomes: Mapping[str, Outcome]
    known: Collection[str] = ()
    findings: list[Finding] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def file(self, sightings: Sequence[Sighting]) -> None:
        """Confirm, reduce and file these; what cannot be done together is done operator by operator."""
        try:
            chosen = [item for item in distinct(sightings, self.examiner.setup.traits) if not self._is_known(item)]
            confirmed = self.examiner.confirm([_only(item.suspicion) for item in chosen]) if chosen else []
        except Exception as error:
            names = list(dict.fromkeys(item.operator for item in sightings))
            if len(names) == 1:
                self.undecided.append(told(names[0], error))
                return
            for name in names:
                self.file([item for item in sightings if item.operator == name])
            return
        self._reduce(chosen, confirmed)

    def _is_known(self, item: Distinct) -> bool:
        suspicion = _with_suspects(item.suspicion, item.more)
        return make_finding(suspicion, ENGINE, {}, item.sighting.operator).id in self.known

    def _reduce(self, chosen: Sequence[Distinct], confirmed: Sequence[Suspicion]) -> None:
        ready = [Prepared(suspicion, suspicion) for suspicion in confirmed]  # interrupted: filed without a script
        try:
            ready = self.preparation.reduce(confirmed)
        finally:
            for item, prepared in zip(chosen, ready, strict=True):
                self._put(item, prepared)

    def _put(self, item: Distinct, ready: Prepared) -> None:
        suspicion, original = (_with_suspects(s, item.more) for s in (ready.suspicion, ready.original))
        suspicion = _remarked(suspicion, item.remark)
        ready = replace(ready, suspicion=suspicion, original=original)
        outcomes = {target: self.outcomes[target] for target in suspicion.targets if target in self.outcomes}
        finding = make_finding(suspicion, ENGINE, outcomes, item.sighting.operator, ready.original)
        if all(known.id != finding.id for known in self.findings):
            self.findings += file_findings(self.store, self.campaign, [(finding, ready)], self.faults)


def _only(suspicion: Suspicion) -> Examined:
    """A suspicion as the examiner takes it to confirm it."""
    ask = Ask(suspicion.case, suspicion.targets, (suspicion.oracle,))
    return Examined(ask, ({},), Judged(suspicions=(suspicion,)))


def _with_suspects(suspicion: Suspicion, more: tuple[str, ...]) -> Suspicion:
    suspects = (*suspicion.diagnosis.suspects, *more)
    return replace(suspicion, diagnosis=replace(suspicion.diagnosis, suspects=suspects)) if more else suspicion


def _remarked(suspicion: Suspicion, remark: str) -> Suspicion:
    if not remark:
        return suspicion
    diagnosis = suspicion.diagnosis
    return replace(suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, remark)))


def told(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__}: {gist(str(error))}"
