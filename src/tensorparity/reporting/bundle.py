"""New defects as upstream prefers them: per library one Markdown file, the minor ones of a kind in one report.

A report of its own is the draft that was written when the defect was reduced. What only costs the last digits, or
overflows a bit before it has to, stands in one table per kind, with the scripts below it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.severity import Severity
from ..core.verdict import Kind
from . import wording, words
from .facts import Facts
from .markdown import code_fence, text
from .standing import distinct
from .summary import by_class

_EXPORTER = "exporter:"
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
#: The largest finite numbers; what is not said to be of another dtype may be of either of the wide ones.
_LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.40e38, "float64": 1.79e308}
_WIDE = ("float32", "float64")
#: A right answer within so much of the largest number makes an infinity in its place an early overflow, and no more.
_BIT_EARLY = 1e3
_MOST_EVIDENCE = 6

#: Headings of reports about several minor ones.
_KINDS = {
    "digits": "Digits in the tail",
    "overflow": "Overflow a bit early",
}


def render(facts: Facts) -> Mapping[str, str]:
    """``LIBRARY.md`` for every library that a new defect is one of."""
    defects = distinct(by_class(facts.defects))
    names = dict.fromkeys(name for defect in defects for name in libraries_of(defect))
    return {
        f"{_file_name(name)}.md": _page(facts, name, [d for d in defects if name in libraries_of(d)]) for name in names
    }


def libraries_of(finding: Finding) -> list[str]:
    """Whose report it goes into: ``keras`` of keras:torch, ``tf2onnx`` of exporter:tf2onnx."""
    plain = (suspect.removeprefix(_EXPORTER) for suspect in finding.diagnosis.suspects)
    return list(dict.fromkeys(re.split(r"[:@{]", name, maxsplit=1)[0] for name in plain))


def minor_kind(finding: Finding) -> str:
    """``digits`` or ``overflow``, where several of that kind make one report; else nothing."""
    if finding.severity is Severity.DIGITS:
        return "digits"
    return "overflow" if finding.kind is Kind.NAN and _overflows_a_bit_early(finding) else ""


def _overflows_a_bit_early(finding: Finding) -> bool:
    data = next((item.data for item in finding.diagnosis.observations if "expected" in item.data), None)
    if data is None or not math.isinf(_number(data.get("observed"))):
        return False
    stated = str(data.get("dtype", ""))
    right = abs(_number(data["expected"]))
    ends = [_LARGEST[name] for name in ([stated] if stated in _LARGEST else _WIDE)]
    return any(end / _BIT_EARLY <= right <= end * 1.01 for end in ends)


def _number(value: Json) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _page(facts: Facts, library: str, defects: Sequence[Finding]) -> str:
    raw = [defect for defect in defects if _is_raw(facts, defect)]
    ready = [defect for defect in defects if defect not in raw]
    minor = {kind: [d for d in ready if minor_kind(d) == kind] for kind in _KINDS}
    together = {kind: members for kind, members in minor.items() if len(members) > 1}
    alone = [defect for defect in ready if not any(defect in members for members in together.values())]
    reports = len(alone) + len(together)
    parts = [
        f"# {text(library)}: {wording.count(len(ready), 'defect')} in {wording.count(reports, 'report')}",
        words.before_sending(),
        _contents(alone, together) if ready else "",
        *(_report(facts, defect) for defect in alone),
        *(_together(facts, kind, members) for kind, members in together.items()),
        _not_yet(raw),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _is_raw(facts: Facts, defect: Finding) -> bool:
    """Nobody upstream wants it as it is: the time did not suffice to reduce it, and there is no script."""
    return defect.reduced is False and defect.id not in {**facts.drafts, **facts.scripts}


def _not_yet(raw: Sequence[Finding]) -> str:
    """What has to be reduced first, by title."""
    if not raw:
        return ""
    lines = [f"- {text(words.title(defect))}: `tensorparity reduce {defect.id}`" for defect in raw]
    return "\n".join(
        [f"## Not yet to be filed: {wording.count(len(raw), 'defect')}", "", words.first_reduce(), "", *lines]
    )


def _contents(alone: Iterable[Finding], together: Mapping[str, Sequence[Finding]]) -> str:
    rows = [f"| {d.severity.value} | {text(words.title(d))} | {text(d.id)} |" for d in alone]
    for kind, members in together.items():
        ids = ", ".join(member.id for member in members)
        rows.append(f"| {members[0].severity.value} | {_KINDS[kind]}: {len(members)} defects | {text(ids)} |")
    return "\n".join(["| severity | report | findings |", "| --- | --- | --- |", *rows])


def _report(facts: Facts, defect: Finding) -> str:
    """The draft, one level down; without one, what is known."""
    draft = facts.drafts.get(defect.id)
    if draft:
        return _one_level_down(draft.strip())
    lines = [f"## {text(words.title(defect))}", "", f"- {text(words.in_short(defect))}"]
    lines += [f"- {text(line)}" for line in words.sentences(defect.diagnosis)[:_MOST_EVIDENCE]]
    return "\n".join([*lines, *_environment(defect), *_script(facts, defect)])


def _one_level_down(markdown: str) -> str:
    """With every heading one level lower; comments in code are no headings."""
    fence, lines = "", []
    for line in markdown.splitlines():
        mark = re.match(r"`{3,}", line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[0]
        lines.append(f"#{line}" if not fence and re.match(r"#{1,5} ", line) else line)
    return "\n".join(lines)


def _together(facts: Facts, kind: str, members: Sequence[Finding]) -> str:
    """A table of all, and their scripts."""
    lines = [
        f"## {_KINDS[kind]}: {len(members)} defects",
        "",
        "| defect | what is seen | finding |",
        "| --- | --- | --- |",
    ]
    for member in members:
        seen = next(iter(words.sentences(member.diagnosis)), "")
        lines.append(f"| {text(words.title(member))} | {text(seen)} | {text(member.id)} |")
    lines += [line for versions in _versions(members) for line in ("", f"Versions: {text(versions)}.")]
    lines += [line for warning in _warnings(facts, members) for line in ("", warning)]
    for member in members:
        script = _script(facts, member)
        lines += ["", f"### {text(words.title(member))}", *script] if script else []
    return "\n".join(lines)


def _versions(members: Iterable[Finding]) -> list[str]:
    found = {name: version for member in members for own in member.versions.values() for name, version in own.items()}
    return [", ".join(f"{name} {version}" for name, version in found.items())] if found else []


def _warnings(facts: Facts, members: Iterable[Finding]) -> list[str]:
    """Of planted faults: what a draft says in bold before anything else."""
    drafts = (facts.drafts.get(member.id, "") for member in members)
    return list(dict.fromkeys(line for draft in drafts for line in draft.splitlines()[:4] if line.startswith("**")))


def _environment(defect: Finding) -> list[str]:
    return [f"- versions: {text(line)}" for line in _versions([defect])]


def _script(facts: Facts, defect: Finding) -> list[str]:
    script = facts.scripts.get(defect.id)
    return ["", *code_fence(script)] if script else []


def _file_name(library: str) -> str:
    return _UNSAFE.sub("-", library).strip(".-") or "library"
