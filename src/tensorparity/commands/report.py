"""``report``: what a store holds, as facts for any renderer; nothing is run and nothing judged anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from ..core.errors import UsageError
from ..core.finding import Finding
from ..core.jsontext import Json
from ..core.outcome import Status
from ..core.verdict import Judgement
from ..oracles.measure.patterns import UniqueInconsistencies
from ..reporting import words
from ..reporting.facts import Facts, RunDifference, TargetFacts
from ..store.database import Campaign, Store
from .texts import with_texts

#: The word for the latest run.
LAST = "last"


def stored_facts(store: Store, run: str | None = None) -> Facts:
    """The findings of one run, or of all of them, with their scripts.

    A finding that several runs have seen is told once, as the latest saw it.

    Args:
        run: the number of a campaign, or ``last``.

    Raises:
        UsageError: if the store has no such run.
    """
    campaigns = _chosen_campaigns(store, run)
    found: dict[str, Finding] = {}
    for campaign in campaigns:
        found.update({finding.id: finding for finding in store.findings(campaign.id)})
    findings = tuple(found.values())
    facts = Facts(
        command="report",
        seed=campaigns[-1].seed if len({campaign.seed for campaign in campaigns}) == 1 else 0,
        targets=_targets(store, campaigns, findings),
        stats=_stats(store, campaigns),
        findings=findings,
        subject=_subject(campaigns),
        notes=tuple(_campaign_line(campaign) for campaign in campaigns),
    )
    return with_texts(facts, store)


def run_difference(before: tuple[Store, str | None], after: tuple[Store, str | None]) -> Facts:
    """The findings of the later run, the new ones first, with notes of what is new, gone, and still there.

    Two findings are the same if they have one id, or count as one defect.

    Raises:
        UsageError: if a store has no such run.
    """
    old, new = stored_facts(*before), stored_facts(*after)
    known, seen = _names(old.findings), _names(new.findings)
    still = [finding for finding in new.findings if known & _names([finding])]
    fresh = [finding for finding in new.findings if not known & _names([finding])]
    gone = [finding for finding in old.findings if not seen & _names([finding])]
    difference = RunDifference(
        _told(old, before[0]),
        _told(new, after[0]),
        tuple(finding.id for finding in fresh),
        tuple(finding.id for finding in gone),
        tuple(finding.id for finding in still),
        _did_as_much(before, after),
    )
    groups = (("new", fresh), (words.gone_as(difference.is_fixed), gone), ("still there", still))
    notes = [f"{word}: {words.title(finding)} [{finding.id}]" for word, group in groups for finding in group]
    return replace(new, findings=(*fresh, *still), difference=difference, notes=(*notes, *new.notes))


def _names(findings: Iterable[Finding]) -> set[str]:
    return {name for finding in findings for name in (finding.id, finding.cluster or finding.signature)}


def _told(facts: Facts, store: Store) -> str:
    return f"{facts.subject} ({store.folder.name})"


def _did_as_much(before: tuple[Store, str | None], after: tuple[Store, str | None]) -> bool:
    """Whether the later runs had the earlier ones' seeds and targets, and no fewer cases of each engine."""
    done = _extent(after)
    return all(done.get(what, -1) >= amount for what, amount in _extent(before).items())


def _extent(side: tuple[Store, str | None]) -> dict[str, int]:
    """How many cases there were, by command, seed, targets and engine."""
    store, run = side
    found: dict[str, int] = {}
    for campaign in _chosen_campaigns(store, run):
        whom = f"{campaign.command} {campaign.seed} {campaign.settings.get('targets')} {campaign.settings.get('model')}"
        found.setdefault(whom, 1 if campaign.finished else 0)
        for engine in store.engines(campaign.id):
            name = f"{whom} {engine}"
            found[name] = found.get(name, 0) + len(store.results(campaign.id, engine))
    return found


def _chosen_campaigns(store: Store, run: str | None) -> list[Campaign]:
    campaigns = store.campaigns()
    if not campaigns:
        raise UsageError(f"store {store} has no runs")
    if run is None:
        return campaigns
    chosen = [campaign for campaign in campaigns if run in (LAST, str(campaign.id))]
    if not chosen:
        known = ", ".join(f"{campaign.id} ({campaign.command})" for campaign in campaigns)
        raise UsageError(f"store {store} has no run {run!r}; there are: {known}, or {LAST}")
    return chosen[-1:]


def _subject(campaigns: Sequence[Campaign]) -> str:
    if len(campaigns) > 1:
        return f"{len(campaigns)} runs"
    model = campaigns[0].settings.get("model")
    return f"run {campaigns[0].id}, {campaigns[0].command}" + (f" {model}" if isinstance(model, str) else "")


def _campaign_line(campaign: Campaign) -> str:
    model = campaign.settings.get("model")
    what = f"{campaign.command} {model}" if isinstance(model, str) else campaign.command
    ended = f"ended {campaign.finished[:19]} ({campaign.stop_reason})" if campaign.finished else "did not end"
    return f"run {campaign.id}: {what}, seed {campaign.seed}, began {campaign.started[:19]}, {ended}"


def _targets(store: Store, campaigns: Sequence[Campaign], findings: Iterable[Finding]) -> tuple[TargetFacts, ...]:
    names: dict[str, dict[str, str]] = {}
    for campaign in campaigns:
        listed = campaign.settings.get("targets")
        names.update(dict.fromkeys(map(str, listed), {}) if isinstance(listed, list) else {})
        for result in (
            result for engine in store.engines(campaign.id) for result in store.results(campaign.id, engine)
        ):
            ran = [target for target, status in result.endings.items() if status is Status.COMPLETED]
            names.update({target: {} for target in ran if target not in names})
    for finding in findings:
        for target in finding.targets:
            names[target] = dict(finding.versions.get(target, names.get(target, {})))
    return tuple(TargetFacts(name, versions) for name, versions in names.items())


def _stats(store: Store, campaigns: Sequence[Campaign]) -> dict[str, Json]:
    engines: dict[str, dict[str, Json]] = {}
    unique = UniqueInconsistencies()
    for campaign in campaigns:
        for engine in store.engines(campaign.id):
            results = store.results(campaign.id, engine)
            for result in results:
                unique.add(result.facts.get("inconsistent", ()))
            open_ones = sum(any(v.judgement is Judgement.UNDECIDED for v in result.verdicts) for result in results)
            tally = engines.setdefault(engine, {"cases": 0, "seconds": 0.0, "undecided": 0})
            tally["cases"] += len(results)
            tally["undecided"] += open_ones
    return {
        "cases": sum(tally["cases"] for tally in engines.values()),
        "undecided": sum(tally["undecided"] for tally in engines.values()),
        "seconds": sum(_seconds(campaign) for campaign in campaigns),
        "per_engine": engines,
        "runs": len(campaigns),
        **unique.tables(),
    }


def _seconds(campaign: Campaign) -> float:
    if campaign.finished is None:
        return 0.0
    return (datetime.fromisoformat(campaign.finished) - datetime.fromisoformat(campaign.started)).total_seconds()
