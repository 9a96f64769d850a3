"""From a suspicion to a Finding in the store, and from outcomes to facts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.machine_settings import ISA_VARIABLES
from ..core.messages import gist
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..oracles.documentation import suspecting_documentation
from ..oracles.kinds import particular_oracle
from ..reporting.facts import TargetFacts
from ..reporting.words import with_words
from ..store.casefile import CaseFile
from ..store.database import Store
from ..targets.catalogue import install_hint, traits_of
from ..targets.environments import available_instruction_set
from ..targets.faults import Fault
from ..targets.runner import LocalRunner
from ..triage.explanations import cluster_of
from ..triage.reduction.preparation import Prepared
from ..triage.reproduce.attachments import Attachment
from ..triage.reproduce.script import Reproducer

#: Variables that say which kernels are taken.
_NOTED = ("TF_ENABLE_ONEDNN_OPTS", *ISA_VARIABLES)
#: Larger models are not copied into the store.
MOST_COPIED = 64 << 20


def make_finding(
    suspicion: Suspicion,
    engine: str,
    outcomes: Mapping[str, Outcome],
    subject: str,
    original: Suspicion | None = None,
    traits: Traits | None = None,
    above: Suspicion | None = None,
) -> Finding:
    """A finding with an identity that survives a resume: what it was when it was found, and of what.

    Args:
        above: the layer through which users meet it, where ``suspicion`` is about a function below that.
        original: as it was found, where ``suspicion`` is what reduction made of it. How far reduction got
            depends on the time it had, and must not make another finding of it.
    """
    found = original or suspicion
    identity = hashlib.sha256(f"{engine}\n{found.signature}\n{subject}".encode()).hexdigest()[:10]
    finding = Finding(
        id=f"{engine}-{identity}",
        engine=engine,
        kind=suspicion.kind,
        stage=suspicion.stage,
        targets=suspicion.targets,
        diagnosis=suspecting_documentation(suspicion),
        signature=suspicion.signature,
        cluster=cluster_of(suspicion, traits or Traits()),
        versions={target: dict(outcome.record.versions) for target, outcome in outcomes.items()},
        reduced=suspicion.reduced,
        not_reduced=suspicion.not_reduced,
        settings=_settings(suspicion, outcomes),
        reached_through=(above.diagnosis.api,) if above and above.diagnosis.api else (),
        aliases=(above.signature,) if above else (),
    )
    return with_words(finding)


def _settings(suspicion: Suspicion, outcomes: Mapping[str, Outcome]) -> dict[str, Json]:
    """What the suspects ran with: on another machine it may be otherwise."""
    families = traits_of(outcomes).families(outcomes)
    suspects = suspicion.diagnosis.suspects
    records = [outcomes[t].record for t in suspicion.targets if t in outcomes and {t, families[t]} & set(suspects)]
    variables = {name: value for record in records for name, value in record.flags.items() if name in _NOTED}
    threads = max((record.threads for record in records), default=0)
    found: dict[str, Json] = {"instruction_set": available_instruction_set(), "threads": threads, **variables}
    return {name: value for name, value in found.items() if value} if records else {}


def file_findings(
    store: Store, campaign: int, found: Iterable[tuple[Finding, Prepared]], faults: Mapping[str, Fault]
) -> list[Finding]:
    """Write findings with their case files and scripts; return them with the paths filled in."""
    filed: list[Finding] = []
    for finding, prepared in found:
        reduced, original = prepared.suspicion, prepared.original
        script = prepared.reproducer
        filed.append(
            store.add_finding(
                campaign,
                finding,
                _case_file(finding, reduced, faults),
                original=_case_file(finding, original, faults) if original.case is not reduced.case else None,
                reproducer=script.marked_text if script else None,
                draft=prepared.draft,
                beside=files_beside(script),
            )
        )
    return filed


def files_beside(script: Reproducer | None) -> list[Attachment]:
    """The files of a script that are kept with it; a model that is too large stays where it is."""
    return [file for file in script.beside if file.size <= MOST_COPIED] if script else []


def scripts_of(findings: Sequence[Finding], prepared: Sequence[Prepared]) -> dict[str, str]:
    """The text of each finding's script, for reports that show it; the first's, as the store keeps the first."""
    pairs = zip(reversed(findings), reversed(prepared), strict=True)
    return {finding.id: item.reproducer.marked_text for finding, item in pairs if item.reproducer}


def _case_file(finding: Finding, suspicion: Suspicion, faults: Mapping[str, Fault]) -> CaseFile:
    return CaseFile(
        case=suspicion.case,
        targets=suspicion.targets,
        versions={target: dict(versions) for target, versions in finding.versions.items()},
        faults={target: fault.name for target, fault in faults.items() if not fault.name.endswith(".py")},
        note="planted: " + ", ".join(f"{t}={fault.name}" for t, fault in faults.items()) if faults else "",
        suspects=suspicion.diagnosis.suspects,
        oracle=particular_oracle(suspicion),
    )


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
