"""Several steps of training, one after another: the loss, then the weights after it, by the vote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..core.arrays import Array
from ..core.case import Case
from ..core.oracle import Seen
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..core.verdict import Stage
from .base import Asking
from .blaming import accusations
from .by_pairs import by_pairs
from .case_oracle import CaseOracle, Outcomes
from .measure.votes import judge_by_vote
from .recipes import at_layer
from .statements import Statement, convicts
from .trained_layer import doubtful, losses_of, training_node

_Answers = Mapping[str, Mapping[str, Array]]


class TrainingOracle(CaseOracle):
    """The first step that differs is the one to tell."""

    name = "training"

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        yield from ()
        completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
        return _vote_of_weights(seen, tuple(outcomes), completed) if len(completed) > 1 else by_pairs(outcomes)


def _vote_of_weights(seen: Seen, targets: tuple[str, ...], completed: Mapping[str, Outcome]) -> Statement:
    case, first = seen.case, Statement()
    for stage, what, answers in _in_order(case, completed):
        errors = judge_by_vote(training_node(case), answers, seen.traits, complete=True)
        how = "fit-loss" if stage is Stage.LOSS else "fit-weights"
        for accusation in accusations([errors], seen.traits, how):
            diagnosis = at_layer(accusation.diagnosis, case)
            return convicts(Suspicion(accusation.kind, diagnosis, case, targets, stage=stage), errors.judged_by)
        first = first if first.undecided else doubtful(errors, what)
    return first


def _in_order(case: Case, completed: Mapping[str, Outcome]) -> Iterator[tuple[Stage, str, _Answers]]:
    """Of every step the losses, then the weights."""
    for step in range(case.procedure.steps or 1):
        losses = {target: _array_named(losses_of(outcome), f"{step}") for target, outcome in completed.items()}
        yield Stage.LOSS, f"the loss of step {step + 1}", losses
        weights = {target: _arrays_starting(outcome.trace.weights, f"{step}:") for target, outcome in completed.items()}
        yield Stage.UPDATE, f"the weights of step {step + 1}", weights


def _array_named(arrays: Mapping[str, Array], name: str) -> dict[str, Array]:
    return {name: arrays[name]} if name in arrays else {}


def _arrays_starting(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name: array for name, array in arrays.items() if name.startswith(prefix)}
