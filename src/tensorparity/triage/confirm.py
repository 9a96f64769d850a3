"""A failure is believed only after it has failed again in fresh processes, with every cache off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.arrays import Array, Arrays
from ..core.case import Case
from ..core.finding import Class
from ..core.model import Model
from ..core.outcome import Outcome, Status
from ..core.runner import Runner
from .diagnose import Accusation, blame
from .replay import replay_nodes

#: A hang must hang alone at this many times the deadline.
HANG_FACTOR = 10.0


def confirm_accusation(
    runner: Runner,
    model: Model,
    accusation: Accusation,
    inputs: Arrays,
    activations: Mapping[str, Array],
    targets: Sequence[str],
    families: Mapping[str, str],
) -> Accusation:
    """Replay the first guilty node in fresh workers; what does not fail again is ``flaky``."""
    node = accusation.first.node
    again = list(replay_nodes(runner, model, [node], inputs, activations, targets, fresh=True))
    if again and blame(again[0], families) == (accusation.diagnosis.klass, accusation.diagnosis.suspects):
        return accusation
    note = "did not fail again in fresh processes"
    diagnosis = replace(accusation.diagnosis, klass=Class.FLAKY, evidence=(*accusation.diagnosis.evidence, note))
    return replace(accusation, diagnosis=diagnosis)


def confirm_ending(runner: Runner, case: Case, outcome: Outcome) -> tuple[bool, Outcome]:
    """Run a case that ended badly again, alone and fresh; True if it ended the same way.

    A time-out gets ten times the deadline, so that a loaded machine makes no findings.
    """
    factor = HANG_FACTOR if outcome.status is Status.TIMED_OUT else 1.0
    again = runner.run_pairs([(case, outcome.target)], fresh=True, deadline_factor=factor)[0]
    same_failure = (again.failure and again.failure.type) == (outcome.failure and outcome.failure.type)
    return again.status is outcome.status and same_failure, again
