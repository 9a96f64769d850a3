"""A failure is believed only after it has failed again in fresh processes, with every cache off, in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.evidence import Evidence, observed
from ..core.finding import Class, Diagnosis
from ..core.graph import Node
from ..core.outcome import Outcome, Status
from ..core.runner import Runner
from ..core.traits import Traits
from ..operators.reference.rounding import K
from ..oracles.measure.node_errors import VOTE_MARGIN
from ..oracles.measure.votes import judge_by_vote

#: A hang must hang alone at this many times the deadline.
HANG_FACTOR = 10.0

_ANSWER = Node("answer", "answer", ())


def flaky(diagnosis: Diagnosis, *notes: Evidence | str) -> Diagnosis:
    """What did not fail again in the same way: recorded, with what makes it so, and nobody's defect."""
    notes = notes or (observed("not-again"),)
    return replace(diagnosis, klass=Class.FLAKY, evidence=(*diagnosis.evidence, *notes))


def unsteady(diagnosis: Diagnosis, *wavering: str) -> Diagnosis:
    """What was wrong every time, but not with the same answer, stays what it is; that it wavers is evidence.

    Args:
        wavering: the suspects that gave two answers.
    """
    new = [target for target in dict.fromkeys(wavering) if target not in diagnosis.wavering]
    notes = [observed("two-answers", target=target) for target in new]
    return replace(diagnosis, wavering=(*diagnosis.wavering, *new), evidence=(*diagnosis.evidence, *notes))


def run_fresh(runner: Runner, pairs: Sequence[tuple[Case, str]]) -> list[Outcome]:
    """In fresh workers; whoever does not answer in time is asked again alone, at ten times its deadline."""
    outcomes = runner.run_pairs(pairs, fresh=True) if pairs else []
    return [
        runner.run_pairs([pair], fresh=True, deadline_factor=HANG_FACTOR)[0]
        if outcome.status is Status.TIMED_OUT
        else outcome
        for pair, outcome in zip(pairs, outcomes, strict=True)
    ]


# --- two runs of one case


def two_answers(
    suspects: Sequence[str], families: Mapping[str, str], before: Mapping[str, Outcome], again: Mapping[str, Outcome]
) -> list[str]:
    """Which of the suspects gave one answer and then another, further apart than rounding explains."""
    return [
        target
        for target in before
        if _is_suspect(target, suspects, families)
        and target in again
        and before[target].completed
        and again[target].completed
        and _apart(_arrays(before[target]), _arrays(again[target]))
    ]


def _is_suspect(target: str, suspects: Sequence[str], families: Mapping[str, str]) -> bool:
    return target in suspects or families.get(target) in suspects


def _apart(before: Arrays, again: Arrays) -> bool:
    votes = judge_by_vote(_ANSWER, {"before": before, "again": again}, Traits(), complete=True)
    return votes.mutual > K * VOTE_MARGIN


def _arrays(outcome: Outcome) -> dict[str, Array]:
    """Everything an outcome answers, by names that do not collide."""
    trace = outcome.trace
    losses = trace.losses or ((trace.loss,) if trace.loss is not None else ())
    groups = {"output": outcome.outputs, "node": trace.nodes, "gradient": trace.gradients, "weight": trace.weights}
    found = {f"{group} {name}": array for group, arrays in groups.items() for name, array in arrays.items()}
    return found | {f"loss {step}": np.asarray(value, np.float32) for step, value in enumerate(losses)}
