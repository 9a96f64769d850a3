"""Trials of a network that a target could not run: from the smallest to the whole."""

from __future__ import annotations

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Stage
from tensorparity.triage.endings import ending_trials
from tensorparity.triage.steps import is_loss_alone

RAISED, DONE = "keras:jax", "keras:torch"


def network(goal: Goal = Goal.GRADIENTS) -> Case:
    build = GraphBuilder("network")
    graph = build.build(build.add("ReLU", build.input("x", (3,)), name="out"))
    procedure = Procedure(goal=goal, loss=Recipe("Huber", {"delta": 0.5}) if goal is Goal.GRADIENTS else None)
    labels = {"out": np.ones((2, 3), np.float32)} if goal is Goal.GRADIENTS else {}
    return Case(graph, procedure, inputs={"x": np.ones((2, 3), np.float32)}, labels=labels)


def raised(stage: str = "", node: str | None = None) -> Outcome:
    return Outcome(RAISED, Status.RAISED, failure=Failure("ValueError", "no such thing", node=node, stage=stage))


def done() -> Outcome:
    return Outcome(DONE, Status.COMPLETED, {"out": np.full((2, 3), 2.0, np.float32)})


def test_the_loss_is_tried_alone_on_what_somebody_predicted() -> None:
    first, whole = ending_trials(network(), raised(), [done()])
    assert is_loss_alone(first.case)
    np.testing.assert_array_equal(first.case.inputs["p0"], 2.0)
    assert (first.stage, first.api, dict(first.parameters)) == (Stage.LOSS, "keras.losses.Huber", {"delta": 0.5})
    assert whole.case.digest == network().digest
    assert (whole.stage, whole.api) == (Stage.FORWARD, "")


def test_what_is_said_of_it_names_the_loss_and_no_layer() -> None:
    first = ending_trials(network(), raised(), [done()])[0]
    diagnosis = first.diagnosis((RAISED,), {RAISED: raised(), DONE: done()})
    assert (diagnosis.api, diagnosis.node) == ("keras.losses.Huber", None)
    assert diagnosis.evidence[-1] == f"{DONE} completed the same on the same inputs"


def test_there_is_no_loss_to_try_before_anybody_predicted_something() -> None:
    assert [is_loss_alone(trial.case) for trial in ending_trials(network(), raised(), [])] == [False]
    assert [is_loss_alone(trial.case) for trial in ending_trials(network(), raised("build"), [done()])] == [False]
    assert len(ending_trials(network(Goal.FORWARD), raised(), [done()])) == 1
