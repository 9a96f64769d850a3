"""Where a finding stands in its run: news, a remark, accepted, or no defect at all; every report counts by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..core.finding import Class, Finding

if TYPE_CHECKING:
    from .facts import Facts

#: What a class means to a reader, in the order in which a reader wants them.
CLASS_MEANINGS = {
    Class.DEFECT: "at least one target is wrong",
    Class.PRECISION: "rounding or an ill-conditioned case; no target is wrong",
    Class.SPECIFICATION: "the documentation allows both; neither is wrong",
    Class.UNSUPPORTED: "a target does not offer this",
    Class.FLAKY: "failed in some repeats only; not counted as new",
}

DEFECT, REMARK, KNOWN = Class.DEFECT.value, "remark", "known"

#: What a standing means, in the order in which a reader wants them.
MEANINGS = {
    DEFECT: CLASS_MEANINGS[Class.DEFECT],
    REMARK: "a layer costs digits in a model whose outputs agree; fails nothing",
    **{klass.value: meaning for klass, meaning in CLASS_MEANINGS.items() if klass is not Class.DEFECT},
    KNOWN: "accepted in tensorparity.toml",
}


def standings(facts: Facts) -> dict[str, str]:
    """Of all findings, by id: one of ``MEANINGS``."""
    news = {finding.id for finding in facts.defects}
    accepted = facts.accepted
    found = {}
    for finding in facts.findings:
        klass = finding.diagnosis.klass.value
        other = REMARK if finding.is_defect and finding.id not in news else klass
        found[finding.id] = KNOWN if finding.id in accepted else other
    return found


def counted(facts: Facts) -> list[tuple[str, int, str]]:
    """How many of each there are, with what that means; of defects and remarks each is counted once, however often
    it was met.
    """
    stands = standings(facts)
    groups = [(name, [finding for finding in facts.findings if stands[finding.id] == name]) for name in MEANINGS]
    once = (DEFECT, REMARK)
    return [(name, len(distinct(group) if name in once else group), MEANINGS[name]) for name, group in groups if group]


def reason_of_acceptance(facts: Facts, finding: Finding) -> str:
    """In the words of ``tensorparity.toml``; empty for what is not accepted."""
    return next((entry.reason for entry in facts.known if finding.id in entry.findings), "")


def known_suspects(facts: Facts) -> frozenset[str]:
    """Who is accused by what is accepted."""
    accepted = facts.accepted
    known = (finding for finding in facts.findings if finding.id in accepted)
    return frozenset(suspect for finding in known for suspect in finding.diagnosis.suspects)


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """One finding per cluster (or signature, where nothing was clustered), a reduced one where there is one."""
    found: dict[str, Finding] = {}
    for finding in findings:
        known = found.setdefault(finding.cluster or finding.signature, finding)
        if known.reduced is False and finding.reduced is not False:
            found[finding.cluster or finding.signature] = finding
    return list(found.values())
