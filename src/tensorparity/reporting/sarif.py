"""The findings of a run as SARIF 2.1.0, which code hosts show beside the code and follow from run to run.

A finding is a result, its kind the rule, its signature the fingerprint by which it is known again. Of a defect that was
met several times one result fails, and the others inform. Results have no line
of a file to point at: they point at the script that shows them, else at the case, else at what was examined. What is
accepted is there, too, as suppressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from .. import __version__
from ..core import jsontext
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.severity import Severity
from ..core.verdict import Judgement, Kind
from . import wording, words
from .facts import Facts
from .standing import CLASS_MEANINGS, MEANINGS, REMARK, standings
from .summary import counted_elsewhere, summarize

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: The name says how the fingerprint is made; a new way gets a new number.
FINGERPRINT = "tensorparitySignature/v1"
_LEVELS = {Severity.CRASH: "error", Severity.WRONG: "error", Severity.NAN: "error", Severity.REFUSES_VALID: "warning"}
_URI = re.compile(r"[a-z][a-z0-9+.-]*:")


def render(facts: Facts) -> str:
    """One document with one run."""
    stands, elsewhere = standings(facts), counted_elsewhere(facts)
    results = [_result(facts, f, stands[f.id], elsewhere.get(f.id, "")) for f in facts.findings]
    rules = [_rule(kind) for kind in dict.fromkeys(finding.kind for finding in facts.findings)]
    driver = {"name": "TensorParity", "semanticVersion": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"tensorparity/{facts.command}/{wording.visible(facts.subject)}"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": _is_whole(facts), "toolExecutionNotifications": list(_notifications(facts))}
        ],
        "properties": {"seed": facts.seed, "targets": [target.name for target in facts.targets]},
        "results": results,
    }
    return jsontext.document({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(kind: Kind) -> Json:
    return {"id": kind.value, "name": "".join(part.title() for part in kind.value.split("-"))}


def _result(facts: Facts, finding: Finding, stands_as: str, counted_as: str) -> Json:
    diagnosis = finding.diagnosis
    fails = finding.is_defect and stands_as != REMARK and not counted_as
    again = [words.another_sighting(counted_as)] if counted_as else []
    said = [words.title(finding), *again, *words.sentences(diagnosis)]
    result: dict[str, Json] = {
        "ruleId": finding.kind.value,
        "level": _LEVELS.get(finding.severity, "note") if fails else "none",
        "kind": "fail" if fails else "informational",
        "message": {"text": "\n".join(wording.visible(line) for line in said)},
        "locations": [_location(facts, finding)],
        "partialFingerprints": {FINGERPRINT: finding.signature},
        "properties": {
            "id": finding.id,
            "engine": finding.engine,
            "class": diagnosis.klass.value,
            "meaning": MEANINGS[REMARK] if stands_as == REMARK else CLASS_MEANINGS[diagnosis.klass],
            "severity": finding.severity.value,
            "suspects": list(diagnosis.suspects),
        },
    }
    suppressions = list(_suppressions(facts, finding))
    if suppressions:
        result["suppressions"] = suppressions
    return result


def _location(facts: Facts, finding: Finding) -> Json:
    diagnosis = finding.diagnosis
    where = finding.reproducer or finding.case or facts.subject or "tensorparity.toml"
    named = [("function", diagnosis.api), ("member", diagnosis.node)]
    logical = [{"fullyQualifiedName": wording.visible(str(name)), "kind": kind} for kind, name in named if name]
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(where)}, "region": {"startLine": 1}},
        **({"logicalLocations": logical} if logical else {}),
    }


def _uri(path: str) -> str:
    """A relative reference: what is before a colon would be read as a scheme."""
    text = quote(path.replace("\\", "/"), safe="/.-_~")
    return f"./{text}" if _URI.match(text) else text


def _suppressions(facts: Facts, finding: Finding) -> Iterator[Mapping[str, Json]]:
    for entry in facts.known:
        if finding.id in entry.findings:
            yield {"kind": "external", "status": "accepted", "justification": wording.visible(entry.reason)}


def _is_whole(facts: Facts) -> bool:
    """It did all that it was asked for."""
    broken = any(target.status == "broken" for target in facts.targets)
    return not (broken or facts.interrupted or facts.unanswered)


def _notifications(facts: Facts) -> Iterator[Mapping[str, Json]]:
    """What a reader of the results should know: alerts, targets that gave no answer, and what else was left open."""
    if facts.interrupted:
        yield _notification("error", words.interrupted())
    for alert in summarize(facts).alerts:
        yield _notification("warning", alert)
    for target in facts.targets:
        if not target.usable:
            reason = f" ({target.reason})" if target.reason else ""
            yield _notification("warning", f"{target.name}: {target.status}{reason}")
    for clause in facts.unanswered:
        yield _notification("warning", clause)
    for pair in facts.comparisons or ():
        if pair.verdict.judgement is Judgement.UNDECIDED:
            yield _notification("warning", f"{pair.a} / {pair.b}: not decided ({pair.verdict.reason})")


def _notification(level: str, text: str) -> Mapping[str, Json]:
    return {"level": level, "message": {"text": wording.visible(text)}}
