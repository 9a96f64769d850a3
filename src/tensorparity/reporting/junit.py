"""The findings of a run as JUnit's XML, which every continuous integration shows.

A new defect is a failure, once however often it was met; an accepted one is skipped, every other finding (a remark,
too) passes and says what it is. What an engine ran without finding anything is one case that passes, with their number
in its name. A comparison is a case, too: skipped where it is undecided, failed where a new defect is behind it. Alerts
are properties.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence

from ..core.finding import Finding
from . import wording, words
from .facts import Facts
from .junit_run import counted, run_suite
from .standing import DEFECT, KNOWN, MEANINGS, reason_of_acceptance, standings
from .summary import counted_elsewhere, place


def render(facts: Facts) -> str:
    """One document; what XML cannot say is escaped."""
    root = ElementTree.Element("testsuites", name="tensorparity")
    root.extend(run_suite(facts))
    stands = standings(facts)
    engines = [*facts.stats.get("per_engine", {}), *(finding.engine for finding in facts.findings)]
    for engine in dict.fromkeys(engines):
        findings = [finding for finding in facts.findings if finding.engine == engine]
        root.append(_suite(facts, engine, findings, stands))
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(facts: Facts, engine: str, findings: Sequence[Finding], stands: Mapping[str, str]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=wording.visible(engine))
    stats = facts.stats.get("per_engine", {}).get(engine, {})
    if stats.get("cases"):
        name = f"{stats['cases']} cases run, {stats.get('undecided', 0)} undecided"
        ElementTree.SubElement(suite, "testcase", classname=wording.visible(engine), name=name)
    elsewhere = counted_elsewhere(facts)
    suite.extend(_case(facts, finding, stands[finding.id], elsewhere.get(finding.id, "")) for finding in findings)
    return counted(suite)


def _case(facts: Facts, finding: Finding, stands_as: str, counted_as: str) -> ElementTree.Element:
    diagnosis = finding.diagnosis
    where = place(finding, facts.comparisons) or "the model"
    name = wording.visible(wording.one_line(f"{where}: {finding.kind.value} ({finding.id})"))
    case = ElementTree.Element("testcase", classname=wording.visible(finding.engine), name=name)
    said = "\n".join(wording.visible(line) for line in words.sentences(diagnosis))
    if stands_as == KNOWN:
        reason = reason_of_acceptance(facts, finding)
        ElementTree.SubElement(case, "skipped", message=wording.visible(f"known difference: {reason}"))
    elif counted_as:
        output = ElementTree.SubElement(case, "system-out")
        output.text = f"{words.another_sighting(counted_as)}\n{said}".strip()
    elif stands_as == DEFECT:
        message = wording.visible(wording.one_line(words.title(finding)))
        failure = ElementTree.SubElement(case, "failure", type=finding.kind.value, message=message)
        script = facts.scripts.get(finding.id, "")
        failure.text = "\n".join([said, *(wording.visible(line) for line in script.splitlines())]).strip()
    else:
        output = ElementTree.SubElement(case, "system-out")
        output.text = f"{stands_as}: {MEANINGS[stands_as]}\n{said}".strip()
    return case
