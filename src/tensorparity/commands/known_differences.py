"""Known differences applied to a run's facts: what they accept, and which of them match nothing any more."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

from ..core.errors import UsageError
from ..core.finding import Finding
from ..reporting.facts import Facts, KnownFacts
from ..store.database import Store
from ..targets.catalogue import traits_of
from ..triage.known_differences import (
    CONFIG,
    KnownCoverage,
    KnownDifference,
    Matched,
    add_known,
    match_known,
    read_known,
)

#: Commands that should meet whatever is known.
_EVERYTHING = ("hunt", "report")


def with_known(facts: Facts, config: Path = CONFIG, *, unmatched: bool = True, today: date | None = None) -> Facts:
    """The facts with the known differences of the configuration.

    Args:
        unmatched: also call out entries that this run would have met and did not; off for commands that look at
            one case only.

    Raises:
        UsageError: if the configuration cannot be read.
    """
    matched = match_known(read_known(config), facts.findings, today or date.today())
    if not matched:
        return facts
    known = tuple(_fact(item) for item in matched)
    run = _coverage(facts)
    notes = [note for item in matched if (note := _note(item, config, unmatched and item.entry.is_met_by(run)))]
    return replace(facts, known=known, notes=(*facts.notes, *notes))


def _coverage(facts: Facts) -> KnownCoverage:
    """What the run looked at; a hunt or a store is about everything."""
    layers = (layer.type for comparison in facts.comparisons or () for layer in comparison.layers)
    targets = [target.name for target in facts.targets if target.usable]
    return KnownCoverage(
        targets=frozenset(targets),
        families=frozenset(traits_of(targets).families(targets).values()),
        model=facts.subject,
        layers=frozenset(name.rpartition(".")[2] for name in layers),
        everything=facts.command in _EVERYTHING,
    )


def _fact(item: Matched) -> KnownFacts:
    entry = item.entry
    expires = entry.expires.isoformat() if entry.expires else ""
    return KnownFacts(entry.name, entry.reason, entry.link, expires, item.findings, item.expired)


def _note(item: Matched, config: Path, unmatched: bool) -> str:
    entry = item.entry
    if item.expired:
        return f"known difference {entry.name} has expired ({entry.expires}) and accepts nothing any more"
    if item.findings:
        amount = len(item.findings)
        return f"known difference {entry.name} accepts {amount} finding{'s' * (amount > 1)}: {entry.reason}"
    if unmatched:
        return f"known difference {entry.name} matched nothing in this run: if it is fixed, remove it from {config}"
    return ""


def find_finding(store: Store, identity: str) -> Finding:
    """The latest finding of this id.

    Raises:
        UsageError: if there is none.
    """
    found = [finding for finding in store.findings() if finding.id == identity]
    if not found:
        known = ", ".join(dict.fromkeys(finding.id for finding in store.findings())) or "none"
        raise UsageError(f"store {store} has no finding {identity!r}; there are: {known}")
    return found[-1]


def model_of_finding(store: Store, identity: str) -> str:
    """What the run compared that found it; empty where it was a search."""
    for campaign in reversed(store.campaigns()):
        if any(finding.id == identity for finding in store.findings(campaign.id)):
            model = campaign.settings.get("model")
            return model if isinstance(model, str) else ""
    return ""


def accept(
    finding: Finding,
    reason: str,
    link: str = "",
    expires: date | None = None,
    pattern: str = "",
    config: Path = CONFIG,
    model: str = "",
) -> KnownDifference:
    """Write a finding's signature (or a pattern that it matches) into the configuration.

    Args:
        model: what was compared when it was found.

    Raises:
        UsageError: if there is no reason, it has expired already, the pattern does not match, or it is there already.
    """
    if not reason.strip():
        raise UsageError("a known difference needs a reason; give one with --reason")
    if expires is not None and expires < date.today():
        raise UsageError(f"--expires {expires} lies in the past: it would accept nothing")
    suspects = tuple(re.sub(r"[@{].*", "", suspect) for suspect in finding.diagnosis.suspects)
    entry = KnownDifference(
        reason, "" if pattern else finding.signature, pattern, link, expires, suspects, "" if pattern else model
    )
    if not entry.matches(finding):
        raise UsageError(f"the pattern {pattern!r} does not match the finding's signature {finding.signature}")
    add_known(entry, config)
    return entry
