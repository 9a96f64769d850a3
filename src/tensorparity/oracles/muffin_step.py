"""The oracle ``muffin``: the paper's rule decides alone, for comparison with what the default oracle says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ..core.endings import ENDING_KINDS
from ..core.oracle import Seen, Setup
from ..core.policies import policy_named
from ..core.signature import is_whole
from ..core.verdict import Judgement, Kind, Stage, Verdict
from .base import Steps, Stepwise
from .kinds import TRAINING_STEPS
from .muffin import EPSILON, THRESHOLD, judge_pair
from .muffin_rule import partings
from .step_failures import convict_failures
from .stepped import STAGES, Stepped, guilty, screen_step, verdict_of_unfinished


class Muffin(Stepwise):
    """Section 3.3 of the paper: layers in which two targets part, though what flows in agrees.

    Settings:
        t: the distance from which on two targets part.
        epsilon: the distance up to which what flows in agrees.
        stages: those that are judged, by name.
    """

    settings: ClassVar[tuple[str, ...]] = ("t", "epsilon", "stages")
    defaults: ClassVar[Mapping[str, object]] = {"t": THRESHOLD, "epsilon": EPSILON}

    role = TRAINING_STEPS
    counts_votes = True
    of_networks = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._threshold = float(setup.settings.get("t", THRESHOLD))
        self._epsilon = float(setup.settings.get("epsilon", EPSILON))
        self._stages = frozenset(map(Stage, setup.settings.get("stages", STAGES)))

    def steps(self, seen: Seen) -> Steps:
        step = screen_step(seen, self._stages, self._threshold, self._epsilon)
        told: set[tuple[str, ...]] = set()
        for parting in partings(step.case, step.inconsistent, step.outcomes, self._threshold, step.traits):
            if parting.key not in told:
                step.convicted.append(parting.suspicion(step.targets))
            told.add(parting.key)
        if not is_whole(seen.claim) or Kind(seen.claim[0]) in ENDING_KINDS:
            yield from convict_failures(step, look_before=False)
        return step.judged(list(self._verdicts(step)))

    def _verdicts(self, step: Stepped) -> Iterator[Verdict]:
        half = policy_named(step.case.procedure.dtype).half
        for pair in step.pairs():
            verdict = guilty(step, pair) or verdict_of_unfinished(step, pair)
            verdict = verdict or judge_pair(step.inconsistent, *pair, self._threshold)
            if verdict.judgement is Judgement.PASS and half:
                reason = "the paper's rule has no threshold for half precision"
                verdict = Verdict(Judgement.UNDECIDED, pair, reason)
            yield verdict
