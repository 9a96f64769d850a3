"""The findings of a run as Markdown: for an issue, a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.finding import Finding
from ..core.self_agreement import SelfAgreement
from . import wording, words
from .facts import Facts
from .standing import DEFECT, KNOWN, MEANINGS, REMARK, distinct, reason_of_acceptance, standings
from .summary import by_class, place, summarize

_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]<>|#"})
_MOST_EVIDENCE = 6


def render(facts: Facts) -> str:
    """A page: the headline, one section per distinct defect, a table of everything else."""
    summary = summarize(facts)
    parts = [f"# {text(summary.headline)}"]
    parts += [f"> **{text(alert)}**" for alert in summary.alerts]
    parts += [f"- {text(point)}" for point in summary.open_points]
    parts += [_defect(facts, defect) for defect in distinct(by_class(facts.defects))]
    stands = standings(facts)
    remarks = distinct(finding for finding in facts.findings if stands[finding.id] == REMARK)
    if remarks:
        parts.append(_remarks(remarks))
    others = [finding for finding in facts.findings if stands[finding.id] not in (DEFECT, REMARK)]
    if others:
        parts.append(_table(facts, by_class(others), stands))
    if facts.self_agreement:
        parts.append(_beside_itself(facts.self_agreement))
    if facts.notes:
        parts.append("## Notes\n\n" + "\n".join(f"- {text(note)}" for note in facts.notes))
    return "\n\n".join(parts) + "\n"


def text(anything: str) -> str:
    """Anybody's words in one line that is not taken for markup."""
    return wording.visible(wording.one_line(anything)).translate(_SPECIAL)


def _defect(facts: Facts, defect: Finding) -> str:
    diagnosis = defect.diagnosis
    alike = [other for other in facts.defects if _cluster(other) == _cluster(defect)]
    lines = [
        f"## {text(words.title(defect))}",
        "",
        f"- finding {text(defect.id)}" + (f", seen {len(alike)} times" if len(alike) > 1 else ""),
        f"- {text(words.in_short(defect))}",
        f"- where: {text(place(defect, facts.comparisons) or 'not known')}",
        f"- suspects: {text(wording.names(diagnosis.suspects) or 'none')}",
    ]
    if diagnosis.parameters:
        lines.append(f"- parameters: {text(wording.parameters(diagnosis.parameters))}")
    lines += [f"- {text(line)}" for line in words.sentences(diagnosis)[:_MOST_EVIDENCE]]
    lines += [f"- case: {text(defect.case)}"] if defect.case else []
    script = facts.scripts.get(defect.id)
    if script:
        lines += ["", *code_fence(script)]
    return "\n".join(lines)


def code_fence(script: str) -> list[str]:
    """In a fence that is longer than any in it."""
    fence = "```"
    while fence in script:
        fence += "`"
    return [f"{fence}python", script.rstrip("\n"), fence]


def _cluster(finding: Finding) -> str:
    return finding.cluster or finding.signature


def _beside_itself(found: Sequence[SelfAgreement]) -> str:
    head = [
        "| target | run again in | largest difference | relative | labels changed |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = [f"| {' | '.join(_cells(item))} |" for item in found]
    return "\n".join(["## Every target beside itself", "", *head, *rows])


def _cells(item: SelfAgreement) -> list[str]:
    largest = text(item.problem) if item.problem else wording.number(item.max_abs, missing="–")
    changed = "–" if item.labels_changed is None else str(item.labels_changed)
    return [text(item.target), text(item.way), largest, wording.number(item.max_rel, missing="–"), changed]


def _remarks(remarks: Sequence[Finding]) -> str:
    lines = [
        f"- {text(words.title(finding))} ({text(finding.id)}: {text(words.in_short(finding))})" for finding in remarks
    ]
    return "\n".join(["## Remarks", "", f"{text(MEANINGS[REMARK].capitalize())}:", "", *lines])


def _table(facts: Facts, findings: Sequence[Finding], stands: Mapping[str, str]) -> str:
    """What is no news: with the class of what is accepted, and why it is."""
    rows = [
        f"| {text(finding.id)} | {_class(finding, stands[finding.id])} | {text(finding.kind.value)} | "
        f"{text(place(finding, facts.comparisons))} | {text(' / '.join(finding.diagnosis.suspects))} |"
        for finding in findings
    ]
    head = ["| finding | class | kind | where | suspects |", "| --- | --- | --- | --- | --- |"]
    used = [name for name in MEANINGS if any(stands[finding.id] == name for finding in findings)]
    meanings = [f"- {name}: {MEANINGS[name]}{_reasons(facts, findings) if name == KNOWN else ''}" for name in used]
    title = "## Other findings" if facts.defects else "## No new defects"
    return "\n".join([title, "", *head, *rows, "", *meanings])


def _reasons(facts: Facts, findings: Sequence[Finding]) -> str:
    """Why those that are accepted are."""
    reasons = dict.fromkeys(filter(None, (reason_of_acceptance(facts, finding) for finding in findings)))
    return f" ({'; '.join(map(text, reasons))})"


def _class(finding: Finding, stands_as: str) -> str:
    klass = finding.diagnosis.klass.value
    return f"{klass}, known" if stands_as == KNOWN else klass
