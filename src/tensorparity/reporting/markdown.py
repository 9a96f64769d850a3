"""The findings of a run as Markdown: for an issue, a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.finding import Class, Finding
from . import wording, words
from .facts import Facts
from .summary import CLASS_MEANINGS, by_class, distinct, place, summarize

_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]<>|#"})
_MOST_EVIDENCE = 6


def render(facts: Facts) -> str:
    """A page: the headline, one section per distinct defect, a table of everything else."""
    summary = summarize(facts)
    parts = [f"# {text(summary.headline)}"]
    parts += [f"> **{text(alert)}**" for alert in summary.alerts]
    parts += [f"- {text(point)}" for point in summary.open_points]
    parts += [_defect(facts, defect) for defect in distinct(by_class(facts.defects))]
    accepted = facts.accepted
    others = [finding for finding in facts.findings if not finding.is_defect or finding.id in accepted]
    if others:
        parts.append(_table(facts, by_class(others)))
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


def _table(facts: Facts, findings: Sequence[Finding]) -> str:
    rows = [
        f"| {text(finding.id)} | {_class(facts, finding)} | {text(finding.kind.value)} | "
        f"{text(place(finding, facts.comparisons))} | {text(' / '.join(finding.diagnosis.suspects))} |"
        for finding in findings
    ]
    head = ["| finding | class | kind | where | suspects |", "| --- | --- | --- | --- | --- |"]
    used = [klass for klass in CLASS_MEANINGS if any(finding.diagnosis.klass is klass for finding in findings)]
    meanings = [f"- {klass.value}: {CLASS_MEANINGS[klass]}" for klass in used if klass is not Class.DEFECT]
    return "\n".join(["## No new defects", "", *head, *rows, *(["", *meanings] if meanings else [])])


def _class(facts: Facts, finding: Finding) -> str:
    known = finding.id in facts.accepted
    return f"{finding.diagnosis.klass.value}, known" if known else finding.diagnosis.klass.value
