"""``reduce``: a case file to the simplest case that fails in the same way, and a script that shows it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from ..campaign.events import Listener, silent
from ..campaign.filing import files_beside, make_finding, target_facts
from ..campaign.sections import Sections
from ..core.errors import UsageError
from ..core.finding import Class, Finding
from ..operators.reference.rounding import K
from ..oracles.kinds import particular_oracle
from ..reporting.facts import Facts
from ..reporting.words import sentence
from ..store.casefile import SUFFIX, CaseFile, write_case
from ..targets.runner import RunnerSettings, with_cache
from ..triage.reduction.order import elements, node_count
from ..triage.reduction.preparation import Prepared, confirm_suspicions, prepare_one
from ..triage.reduction.reducer import Reduction, ReductionBudget
from .opening import OpenCase, open_case


@dataclass(frozen=True)
class Reduced:
    facts: Facts
    broken: bool


def reduce(
    path: Path,
    targets: str | None,
    settings: RunnerSettings,
    out: Path,
    budget: ReductionBudget | None = None,
    listener: Listener = silent,
    *,
    oracle: str = "",
    sections: Sections | None = None,
) -> Reduced:
    """Reduce the first defect that the case shows; write the reduced case and the script into ``out``.

    Raises:
        CaseFileError: if the file is broken or hostile.
        UsageError: if it has no targets that are installed, or ``out`` cannot be written.
    """
    began = time.monotonic()
    with open_case(path, targets, settings, oracle, sections) as opened:
        examiner = opened.examiner(with_cache(opened.runner, settings))
        first_look = opened.look(fresh=False)
        outcomes = first_look.own
        suspicions = [suspicion for suspicion, _ in examiner.confirm([first_look])]
        undecided = "" if suspicions else first_look.judged.undecided
        defects = [s for s in suspicions if s.diagnosis.klass is Class.DEFECT]
        findings = [make_finding(s, "reduce", outcomes, opened.case.digest) for s in suspicions]
        stats = {"cases": 1, "undecided": int(bool(undecided))}
        notes = list(opened.notes)
        scripts: dict[str, str] = {}
        if defects:
            prepared = prepare_one(opened.runner, examiner, defects[0], budget or ReductionBudget(), listener=listener)
            first = make_finding(prepared.suspicion, "reduce", outcomes, opened.case.digest, prepared.original)
            reduction = prepared.reduction
            if reduction is None or reduction.suspicion is None:
                notes += [sentence(item) for item in first.diagnosis.observations if item.code == "not-reduced"]
            else:
                stats |= _sizes(opened, reduction)
                notes += [f"{step.name}: {step.nodes} nodes, {step.elements} numbers" for step in reduction.steps]
            if prepared.reproducer or (reduction and reduction.suspicion):
                first = _write(first, prepared, opened, out)
            findings = [first, *(finding for finding in findings if finding.id != first.id)]
            met = confirm_suspicions(examiner, reduction.also) if reduction else []
            findings += [make_finding(s, "reduce", outcomes, s.case.digest) for s in met]
            if prepared.reproducer:
                scripts[first.id] = prepared.reproducer.marked_text
        elif not any(outcome.completed for outcome in outcomes.values()):
            notes.append("the case cannot run here, so there is nothing to reduce")
        else:
            notes.append("the case does not fail here, so there is nothing to reduce")
        ran = bool(findings) or any(outcome.completed for outcome in outcomes.values())
        facts = Facts(
            command="reduce",
            seed=opened.case.seed,
            targets=target_facts(opened.runner, opened.targets, outcomes),
            stats={**stats, "seconds": time.monotonic() - began},
            findings=tuple(findings),
            subject=path.name,
            notes=tuple(notes),
            isolated_threshold=K,
            planted=opened.planted,
            accused=opened.accused_elsewhere(outcomes),
            undecided={undecided: 1} if undecided else {},
            scripts=scripts,
        )
        return Reduced(facts, bool(opened.runner.broken) or not ran)


def _sizes(opened: OpenCase, reduction: Reduction) -> dict[str, int]:
    return {
        "checks": reduction.checks,
        "nodes_before": node_count(opened.case),
        "nodes_after": node_count(reduction.case),
        "elements_before": elements(opened.case),
        "elements_after": elements(reduction.case),
    }


def _write(finding: Finding, prepared: Prepared, opened: OpenCase, out: Path) -> Finding:
    stem = opened.path.name.removesuffix(SUFFIX).removesuffix(".original")
    suspicion = prepared.suspicion
    file = CaseFile(
        suspicion.case,
        suspicion.targets,
        finding.versions,
        opened.file.faults,
        opened.file.note,
        suspicion.diagnosis.suspects,
        particular_oracle(suspicion),
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_case(out / f"{stem}.reduced{SUFFIX}", file)
        finding = replace(finding, case=f"{stem}.reduced{SUFFIX}")
        if prepared.reproducer:
            (out / f"{stem}.py").write_text(prepared.reproducer.marked_text, encoding="utf-8")
            finding = replace(finding, reproducer=f"{stem}.py")
            for beside in files_beside(prepared.reproducer):
                beside.put(out)
        if prepared.draft:
            (out / f"{stem}.md").write_text(prepared.draft, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write into {out}: {error.strerror}") from error
    return finding
