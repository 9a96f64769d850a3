"""What came of one training step, and the verdict of each pair of targets on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.case import Case
from ..core.messages import gist
from ..core.outcome import Outcome, Status
from ..core.policies import policy_named
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Stage, Verdict
from ..oracles.muffin import Inconsistency, judge_pair
from ..triage.endings import EndingTrial
from ..triage.trials import Trial

ENDINGS = {Status.RAISED: Kind.ERROR, Status.CRASHED: Kind.CRASH, Status.TIMED_OUT: Kind.HANG}


@dataclass(frozen=True)
class Known:
    """Something that has been convicted before, seen once more."""

    place: tuple[str, ...]
    stage: Stage
    api: str
    suspects: tuple[str, ...]
    kind: Kind = Kind.INCONSISTENCY


@dataclass
class Stepped:
    """What came of one case.

    Args:
        inconsistent: what the paper's rule says, whatever the verdicts are by.
        parting: what it would say with the smallest of figure 5's thresholds.
        convicted: suspicions of this case, not confirmed yet.
        settled: doubts that a trial dispelled, and why there were any.
        known: what was not tried again, because it had been convicted before.
        unsupported: targets that say they lack something, and what they say.
    """

    case: Case
    outcomes: Mapping[str, Outcome]
    inconsistent: list[Inconsistency] = field(default_factory=list)
    parting: list[Inconsistency] = field(default_factory=list)
    convicted: list[Suspicion] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    open: list[Trial | EndingTrial] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    unsupported: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)


@dataclass(frozen=True)
class Pairing:
    """The targets of a run, two by two.

    Args:
        families: which code each target shares with others.
        oracle: ``parity`` or ``muffin``.
    """

    targets: Sequence[str]
    families: Mapping[str, str]
    oracle: str

    def verdicts(self, step: Stepped) -> Iterator[Verdict]:
        for a, b in itertools.combinations(self.targets, 2):
            yield self._verdict(step, a, b)

    def _verdict(self, step: Stepped, a: str, b: str) -> Verdict:
        pair = (a, b)
        guilty = [s for s in step.convicted if self.concerns(s.diagnosis.suspects, pair)]
        if guilty:
            first = guilty[0]
            reason = f"{first.stage.value}: {first.diagnosis.api or first.diagnosis.node} is wrong"
            return Verdict(
                Judgement.FAIL,
                pair,
                reason,
                first.diagnosis.measure,
                first.diagnosis.threshold,
                first.kind,
                first.stage,
            )
        seen = [known for known in step.known if self.concerns(known.suspects, pair)]
        if seen and self.oracle != "muffin":
            first_seen = seen[0]
            reason = f"{first_seen.stage.value}: {first_seen.api or 'the network'} again"
            return Verdict(Judgement.FAIL, pair, reason, kind=first_seen.kind, stage=first_seen.stage)
        ended = [step.outcomes[target] for target in pair if not step.outcomes[target].completed]
        if ended:
            failure = ended[0].failure
            said = gist(failure.message) if failure else ""
            kind = ENDINGS.get(ended[0].status)
            return Verdict(Judgement.UNDECIDED, pair, f"{ended[0].target} {ended[0].status.value}: {said}", kind=kind)
        if self.oracle == "muffin":
            verdict = judge_pair(step.inconsistent, a, b)
            if verdict.judgement is Judgement.PASS and policy_named(step.case.procedure.dtype).half:
                return Verdict(Judgement.UNDECIDED, pair, "the paper's rule has no threshold for half precision")
            return verdict
        doubted = [trial for trial in step.open if set(trial.suspects) & set(pair)]
        if doubted:
            reason = f"{doubted[0].stage.value}: {doubted[0].api} differs in the network, not alone"
            return Verdict(Judgement.UNDECIDED, pair, reason, stage=doubted[0].stage)
        return Verdict(Judgement.PASS, pair, "every stage agrees up to rounding")

    def concerns(self, suspects: Sequence[str], pair: tuple[str, str]) -> bool:
        """A name that is a target's means that target, though a family of several may be called the same."""
        shared = {self.families.get(target, target) for target in pair} - set(self.targets)
        return bool({*pair, *shared} & set(suspects))
