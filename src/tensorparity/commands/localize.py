"""``localize``: every layer of a case's model alone, on identical inputs, with the papers' rates beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..campaign.events import Listener, silent
from ..campaign.filing import make_finding, target_facts
from ..campaign.sections import Sections
from ..core.case import ApiCall, ModelFile
from ..core.engine import Ask
from ..core.finding import Finding
from ..core.outcome import Outcome
from ..core.place import Place
from ..core.procedure import Goal
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement
from ..operators.reference.rounding import K
from ..oracles.causal import EVERY, PLACES
from ..oracles.kinds import DEFAULT_ORACLE, WHOLE_MODELS, of_role, oracle_of
from ..oracles.measure.localizers import BESIDE_THE_REPLAY
from ..oracles.whole.sight import model_of
from ..reporting.facts import Facts
from ..reporting.words import with_words
from ..targets.catalogue import traits_of
from ..targets.runner import RunnerSettings, with_cache
from ..triage.guilty_parameters import evidence_of
from .opening import OpenCase, open_case
from .sources.models import Context, open_source
from .whole_models import ModelExaminer


@dataclass(frozen=True)
class Localized:
    facts: Facts
    broken: bool


def localize(
    path: Path,
    targets: str | None,
    settings: RunnerSettings,
    listener: Listener = silent,
    *,
    oracle: str = "",
    sections: Sections | None = None,
    by: str = "replay",
) -> Localized:
    """Look at the layers of a case's model; of a call or a single layer there is only one place to name.

    Args:
        by: ``audee`` also tries other values of every parameter of a guilty layer, one at a time.

    Raises:
        CaseFileError: if the file is broken or hostile.
        UsageError: if it has no targets that are installed.
    """
    began = time.monotonic()
    with open_case(path, targets, settings, oracle, sections) as opened:
        single = isinstance(opened.case.subject, ApiCall) or opened.case.procedure.goal is not Goal.FORWARD
        facts = _single(opened) if single else _model(opened, listener)
        if BESIDE_THE_REPLAY[by]:
            facts = _with_parameters(opened, facts, by)
        ran = any(target.usable for target in facts.targets) or bool(facts.findings)
        stats = {**facts.stats, "seconds": time.monotonic() - began}
        broken = any(target in opened.targets for target in opened.runner.broken)
        return Localized(replace(facts, stats=stats, notes=(*opened.notes, *facts.notes)), broken or not ran)


def _with_parameters(opened: OpenCase, facts: Facts, by: str) -> Facts:
    """The facts with the places that causal testing names: layers, and the parameters of theirs that are guilty."""
    runner = with_cache(opened.runner, opened.runner.settings)
    oracle = BESIDE_THE_REPLAY[by]
    examiner = opened.examiner(runner, {oracle: {"values": EVERY}})
    (examined,) = examiner.examine([Ask(opened.case, opened.targets, (oracle,))])
    places: Sequence[Place] = examined.judged.facts.get(PLACES, ())
    said = {by: tuple(map(str, places))}
    pairs = facts.comparisons
    return replace(
        facts,
        findings=tuple(_with_places(finding, places) for finding in facts.findings),
        comparisons=None if pairs is None else tuple(replace(pair, accused={**pair.accused, **said}) for pair in pairs),
        stats={**facts.stats, "places": [place.to_json() for place in places]},
    )


def _with_places(finding: Finding, places: Sequence[Place]) -> Finding:
    own = [place for place in places if place.node == finding.diagnosis.node and place.tried]
    if not own:
        return finding
    evidence = (*finding.diagnosis.evidence, evidence_of(own))
    return with_words(replace(finding, diagnosis=replace(finding.diagnosis, evidence=evidence)))


def _single(opened: OpenCase) -> Facts:
    look = opened.look(fresh=False)
    suspicions = [suspicion for suspicion, _ in opened.examiner().confirm([look])]
    why = "" if suspicions else look.judged.undecided
    undecided = {why: 1} if why else {}
    return replace(_facts(opened, suspicions, look.own, len(undecided)), undecided=undecided)


def _model(opened: OpenCase, listener: Listener) -> Facts:
    """Every layer alone on the map; the verdict is by whoever ``replay`` and ``reduce`` ask."""
    mapped = _mapped(opened, listener)
    if _judge(opened) in of_role(WHOLE_MODELS):
        return mapped
    return replace(_single(opened), comparisons=mapped.comparisons, notes=mapped.notes, phases=mapped.phases)


def _judge(opened: OpenCase) -> str:
    return opened.oracle or oracle_of(opened.case)


def _mapped(opened: OpenCase, listener: Listener) -> Facts:
    case, settings = opened.case, opened.runner.settings
    model = model_of(case)
    notes: tuple[str, ...] = ()
    if isinstance(case.subject, ModelFile):
        context = Context(opened.runner, settings, opened.targets, case.seed, listener, (), {})
        source = open_source(case.subject.path, context)
        model, notes = source.model, tuple(source.notes)
    runner, traits = with_cache(opened.runner, settings), traits_of(opened.targets)
    oracle = opened.oracle if opened.oracle in of_role(WHOLE_MODELS) else DEFAULT_ORACLE
    examiner = ModelExaminer(
        runner,
        model,
        opened.targets,
        traits,
        oracle=oracle,
        settings={"localize": "always"},
        sections=opened.sections.oracles,
        seed=case.seed,
        tell=listener,
    )
    examined = examiner.examine(case.inputs, case.labels)
    undecided = sum(c.verdict.judgement is Judgement.UNDECIDED for c in examined.comparisons)
    return replace(
        _facts(opened, examined.suspicions, examined.outcomes, undecided),
        comparisons=tuple(examined.comparisons),
        notes=(*notes, *examined.notes),
        phases=examined.phases,
    )


def _facts(opened: OpenCase, suspicions: Sequence[Suspicion], outcomes: Mapping[str, Outcome], undecided: int) -> Facts:
    return Facts(
        command="localize",
        seed=opened.case.seed,
        targets=target_facts(opened.runner, opened.targets, outcomes),
        stats={"cases": 1, "undecided": undecided},
        findings=tuple(make_finding(s, "localize", outcomes, opened.case.digest) for s in suspicions),
        subject=opened.path.name,
        isolated_threshold=K,
        planted=opened.planted,
        accused=opened.accused_elsewhere(outcomes),
    )
