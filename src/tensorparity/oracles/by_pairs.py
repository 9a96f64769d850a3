"""Without a reference and without a vote: are all targets equal up to rounding?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..core.outcome import Outcome
from ..core.verdict import Judgement
from .pair import compare_outcomes, judge_parity
from .statements import BY_NOTHING, Statement, clears, doubts

ALONE = "one target alone cannot be judged without a reference"


def by_pairs(outcomes: Mapping[str, Outcome]) -> Statement:
    """The first target against each of the others; a difference is told, and blames nobody."""
    completed = [outcome for outcome in outcomes.values() if outcome.completed]
    if len(completed) < 2:
        return doubts(ALONE)
    first, *others = completed
    for other in others:
        for comparison in compare_outcomes(_answers(first), _answers(other), {}, judge_parity):
            if comparison.verdict.judgement is not Judgement.PASS:
                return doubts(f"{first.target} and {other.target}: {comparison.verdict.reason}")
    return clears(BY_NOTHING)


def _answers(outcome: Outcome) -> Outcome:
    """The replay of single nodes answers in its trace alone."""
    return outcome if outcome.outputs else replace(outcome, outputs=outcome.trace.nodes)
