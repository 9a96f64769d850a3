"""From a suspicion to a Finding in the store, and from outcomes to facts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from ..core.finding import Finding
from ..core.messages import gist
from ..core.outcome import Outcome
from ..reporting.facts import TargetFacts
from ..store.casefile import CaseFile
from ..store.database import Store
from ..targets.catalogue import install_hint
from ..targets.faults import Fault
from ..targets.runner import LocalRunner
from ..triage.sign import signature
from ..triage.suspicion import Suspicion


def make_finding(suspicion: Suspicion, engine: str, outcomes: Mapping[str, Outcome], subject: str) -> Finding:
    """A finding with an identity that survives a resume: what it is, and of what."""
    signed = signature(suspicion.kind, suspicion.stage, suspicion.diagnosis, suspicion.exception)
    identity = hashlib.sha256(f"{engine}\n{signed}\n{subject}".encode()).hexdigest()[:10]
    return Finding(
        id=f"{engine}-{identity}",
        engine=engine,
        kind=suspicion.kind,
        stage=suspicion.stage,
        targets=suspicion.targets,
        diagnosis=suspicion.diagnosis,
        signature=signed,
        cluster=signed,
        versions={target: dict(outcome.record.versions) for target, outcome in outcomes.items()},
    )


def file_findings(
    store: Store, campaign: int, found: Iterable[tuple[Finding, Suspicion]], faults: Mapping[str, Fault]
) -> list[Finding]:
    """Write findings with their case files; return them with the paths filled in."""
    filed: list[Finding] = []
    for finding, suspicion in found:
        case = CaseFile(
            case=suspicion.case,
            targets=suspicion.targets,
            versions={target: dict(versions) for target, versions in finding.versions.items()},
            faults={target: fault.name for target, fault in faults.items() if not fault.name.endswith(".py")},
            note="planted: " + ", ".join(f"{t}={fault.name}" for t, fault in faults.items()) if faults else "",
        )
        filed.append(store.add_finding(campaign, finding, case))
    return filed


def target_facts(
    runner: LocalRunner, targets: Sequence[str], outcomes: Mapping[str, Outcome]
) -> tuple[TargetFacts, ...]:
    """How each target fared."""
    return tuple(_target_fact(runner, target, outcomes.get(target)) for target in targets)


def _target_fact(runner: LocalRunner, target: str, outcome: Outcome | None) -> TargetFacts:
    if target in runner.broken:
        error = runner.broken[target]
        return TargetFacts(target, status="broken", reason=error.reason, install=install_hint(runner.desk(target).spec))
    if outcome is None:
        return TargetFacts(target, status="skipped", reason="not asked")
    reason = ""
    if outcome.failure:
        reason = f"{outcome.failure.type}: {gist(outcome.failure.message)}"
    record = outcome.record
    return TargetFacts(
        target,
        versions=record.versions,
        status=outcome.status.value,
        reason=reason,
        seconds=outcome.seconds,
        mode=str(record.build.get("mode", "")),
        flags=record.flags,
    )
