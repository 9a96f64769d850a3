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
from ..core.outcome import Outcome
from ..core.procedure import Goal
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement
from ..operators.reference.rounding import K
from ..oracles.kinds import WHOLE_MODELS, of_role
from ..oracles.whole.sight import model_of
from ..reporting.facts import Facts
from ..targets.catalogue import traits_of
from ..targets.runner import RunnerSettings, with_cache
from .confirming import confirmed_fresh
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
) -> Localized:
    """Look at the layers of a case's model; of a call or a single layer there is only one place to name.

    Raises:
        CaseFileError: if the file is broken or hostile.
        UsageError: if it has no targets that are installed.
    """
    began = time.monotonic()
    with open_case(path, targets, settings, oracle, sections) as opened:
        single = isinstance(opened.case.subject, ApiCall) or opened.case.procedure.goal is not Goal.FORWARD
        facts = _single(opened) if single else _model(opened, listener)
        ran = any(target.usable for target in facts.targets) or bool(facts.findings)
        stats = {**facts.stats, "seconds": time.monotonic() - began}
        broken = any(target in opened.targets for target in opened.runner.broken)
        return Localized(replace(facts, stats=stats, notes=(*opened.notes, *facts.notes)), broken or not ran)


def _single(opened: OpenCase) -> Facts:
    look = opened.look(fresh=False)
    suspicions, said = confirmed_fresh(opened, look)
    undecided = {said: 1} if said else {}
    return replace(_facts(opened, suspicions, look.own, len(undecided)), undecided=undecided)


def _model(opened: OpenCase, listener: Listener) -> Facts:
    case, settings = opened.case, opened.runner.settings
    model = model_of(case)
    notes: tuple[str, ...] = ()
    if isinstance(case.subject, ModelFile):
        context = Context(opened.runner, settings, opened.targets, case.seed, listener, (), {})
        source = open_source(case.subject.path, context)
        model, notes = source.model, tuple(source.notes)
    runner, traits = with_cache(opened.runner, settings), traits_of(opened.targets)
    oracle = opened.oracle if opened.oracle in of_role(WHOLE_MODELS) else "parity"
    told = {"localize": "always", **opened.sections.oracles.get(oracle, {})}
    examiner = ModelExaminer(
        runner, model, opened.targets, traits, oracle=oracle, settings=told, seed=case.seed, tell=listener
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
    )
