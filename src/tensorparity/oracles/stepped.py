"""One training step while it is judged, and the verdict of each pair of targets on it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..core.case import Case
from ..core.endings import KIND_OF_ENDING
from ..core.messages import gist
from ..core.oracle import Judged, Seen
from ..core.outcome import Outcome, Status
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Judgement, Stage, Verdict
from .measure.support import is_lack
from .muffin import EPSILON, SWEEP, THRESHOLD, Inconsistency
from .muffin_rule import by_paper
from .step_facts import STEP, Known, StepFacts, with_outcome_counts

#: Of a training step, in the order in which it runs.
STAGES = (Stage.BUILD, Stage.FORWARD, Stage.LOSS, Stage.BACKWARD, Stage.UPDATE)


class Doubt(Protocol):
    """What a check was to dispel."""

    @property
    def stage(self) -> Stage: ...

    @property
    def api(self) -> str: ...

    @property
    def suspects(self) -> tuple[str, ...]: ...

    @property
    def place(self) -> tuple[str, ...]: ...


@dataclass
class Stepped:
    """What is known of one case so far; the fields that ``StepFacts`` has, too, are explained there.

    Args:
        outcomes: with refusals as ``unsupported``.
        families: which code each target shares with others.
    """

    case: Case
    outcomes: Mapping[str, Outcome]
    traits: Traits
    families: Mapping[str, str]
    inconsistent: list[Inconsistency] = field(default_factory=list)
    parting: list[Inconsistency] = field(default_factory=list)
    convicted: list[Suspicion] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    open: list[Doubt] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    unsupported: dict[str, str] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.outcomes)

    def concerns(self, suspects: Sequence[str], pair: tuple[str, str]) -> bool:
        """A name that is a target's means that target, though a family of several may be called the same."""
        shared = {self.families.get(target, target) for target in pair} - set(self.targets)
        return bool({*pair, *shared} & set(suspects))

    def pairs(self) -> Iterator[tuple[str, str]]:
        return itertools.combinations(self.targets, 2)

    def judged(self, verdicts: Sequence[Verdict]) -> Judged:
        facts = StepFacts(
            unsupported=dict(self.unsupported),
            inconsistent=tuple(self.inconsistent),
            parting=tuple(self.parting),
            convicted=tuple(dict.fromkeys(s.diagnosis.api for s in self.convicted if s.diagnosis.api)),
            known=tuple(self.known),
            open=tuple((doubt.stage.value, doubt.api) for doubt in self.open),
            settled=tuple(self.settled),
        )
        facts = with_outcome_counts(facts, self.case, self.outcomes, self.traits)
        return Judged(tuple(verdicts), tuple(self.convicted), told={STEP: facts.to_json()}, facts={STEP: facts})


def screen_step(
    seen: Seen, stages: Collection[Stage], threshold: float = THRESHOLD, epsilon: float = EPSILON
) -> Stepped:
    """A case before anything is judged: who lacks something, and what the paper's rule says."""
    case, outcomes = seen.case, dict(seen.own)
    unsupported: dict[str, str] = {}
    for target, outcome in seen.own.items():
        failure = outcome.failure
        if failure and is_lack(outcome, case, seen.traits):
            unsupported[target] = gist(failure.message)
            outcomes[target] = replace(outcome, status=Status.UNSUPPORTED)
        elif outcome.status is Status.UNSUPPORTED and failure:
            unsupported[target] = gist(failure.message)
    parting = by_paper(case, outcomes, stages, min(*SWEEP, threshold), epsilon)
    inconsistent = [item for item in parting if item.distance > threshold]
    families = seen.traits.families(outcomes)
    return Stepped(case, outcomes, seen.traits, families, inconsistent, parting, unsupported=unsupported)


def pair_verdict(step: Stepped, pair: tuple[str, str]) -> Verdict:
    """What is wrong with one of them, what was wrong before, who ended, what is in doubt; else all is well."""
    found = (
        guilty(step, pair) or _again(step, pair) or verdict_of_unfinished(step, pair) or _verdict_of_doubts(step, pair)
    )
    return found or Verdict(Judgement.PASS, pair, "every stage agrees up to rounding")


def guilty(step: Stepped, pair: tuple[str, str]) -> Verdict | None:
    for suspicion in step.convicted:
        diagnosis = suspicion.diagnosis
        if step.concerns(diagnosis.suspects, pair):
            reason = f"{suspicion.stage.value}: {diagnosis.api or diagnosis.node} is wrong"
            measured = (diagnosis.measure, diagnosis.threshold)
            return Verdict(Judgement.FAIL, pair, reason, *measured, suspicion.kind, suspicion.stage)
    return None


def _again(step: Stepped, pair: tuple[str, str]) -> Verdict | None:
    for known in step.known:
        if step.concerns(known.suspects, pair):
            reason = f"{known.stage.value}: {known.api or 'the network'} again"
            return Verdict(Judgement.FAIL, pair, reason, kind=known.kind, stage=known.stage)
    return None


def verdict_of_unfinished(step: Stepped, pair: tuple[str, str]) -> Verdict | None:
    for outcome in (step.outcomes[target] for target in pair):
        if not outcome.completed:
            said = gist(outcome.failure.message) if outcome.failure else ""
            reason = f"{outcome.target} {outcome.status.value}: {said}"
            return Verdict(Judgement.UNDECIDED, pair, reason, kind=KIND_OF_ENDING.get(outcome.status))
    return None


def _verdict_of_doubts(step: Stepped, pair: tuple[str, str]) -> Verdict | None:
    for doubt in step.open:
        if set(doubt.suspects) & set(pair):
            reason = f"{doubt.stage.value}: {doubt.api} differs in the network, not alone"
            return Verdict(Judgement.UNDECIDED, pair, reason, stage=doubt.stage)
    return None
