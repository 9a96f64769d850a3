"""The run itself in JUnit's XML: what was compared, what gave no answer, and what has to be known before all that."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from ..core.comparison import Comparison
from ..core.verdict import Judgement
from . import wording, words
from .facts import Facts
from .summary import summarize


def run_suite(facts: Facts) -> Iterator[ElementTree.Element]:
    """One suite, or none where there is nothing to say of the run itself."""
    cases = [*_compared(facts), *_unanswered(facts)]
    alerts = summarize(facts).alerts
    if not cases and not alerts:
        return
    suite = ElementTree.Element("testsuite", name=facts.command)
    if alerts:
        properties = ElementTree.SubElement(suite, "properties")
        for alert in alerts:
            ElementTree.SubElement(properties, "property", name="alert", value=wording.visible(alert))
    suite.extend(cases)
    yield counted(suite)


def counted(suite: ElementTree.Element) -> ElementTree.Element:
    """The suite with the numbers of its cases."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(kind, str(sum(case.find(tag) is not None for case in cases)))
    return suite


def _compared(facts: Facts) -> Iterator[ElementTree.Element]:
    if facts.comparisons is None:
        return
    for pair in facts.comparisons:
        yield _comparison(facts, pair)
    named = {name for pair in facts.comparisons for name in (pair.a, pair.b)}
    for target in facts.targets:
        if not target.usable and target.name not in named:
            why = f"{target.status}: {target.reason}" if target.reason else target.status
            yield _case(facts, target.name, "skipped", why)
    if not facts.comparisons:
        yield _case(facts, "comparisons", "skipped", "nothing was compared")


def _comparison(facts: Facts, pair: Comparison) -> ElementTree.Element:
    name, verdict = f"{pair.a} / {pair.b}, output {pair.output}", pair.verdict
    if verdict.judgement is Judgement.UNDECIDED:
        return _case(facts, name, "skipped", f"not decided: {verdict.reason}")
    if not verdict.failed:
        return _case(facts, name, "system-out", verdict.reason)
    if _is_behind(facts, pair):
        return _case(facts, name, "failure", verdict.reason)
    if not facts.findings:
        return _case(facts, name, "skipped", f"who is wrong is not decided: {verdict.reason}")
    return _case(facts, name, "system-out", f"differs, and no new defect is behind it: {verdict.reason}")


def _is_behind(facts: Facts, pair: Comparison) -> bool:
    """Whether a new defect explains why a pair differs."""
    accusable = {pair.a, pair.b, *pair.accusable}
    return any(not one.diagnosis.suspects or accusable & set(one.diagnosis.suspects) for one in facts.defects)


def _unanswered(facts: Facts) -> Iterator[ElementTree.Element]:
    """What else was asked for."""
    for clause in facts.unanswered:
        yield _case(facts, clause, "skipped", clause)
    if facts.suspected:
        yield _case(facts, "suspicions", "skipped", words.not_confirmed(len(facts.suspected)))
    if facts.interrupted:
        yield _case(facts, "the whole run", "error", words.interrupted())


def _case(facts: Facts, name: str, tag: str, said: str) -> ElementTree.Element:
    named = wording.visible(wording.one_line(name))
    case = ElementTree.Element("testcase", classname=facts.command, name=named)
    told = wording.visible(wording.one_line(said))
    if tag == "system-out":
        ElementTree.SubElement(case, tag).text = told
    else:
        ElementTree.SubElement(case, tag, message=told)
    return case
