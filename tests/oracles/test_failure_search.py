"""Trials of a network that a target could not run: from the smallest to the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Stage
from tensorparity.operators.losses.alone import is_loss_alone
from tensorparity.oracles.failure_search import FailureCheck, failure_search, stage_of_failure
from tensorparity.reporting.words import sentences

RAISED, DONE = "keras:jax", "keras:torch"


def network(goal: Goal = Goal.GRADIENTS) -> Case:
    build = GraphBuilder("network")
    graph = build.build(build.add("ReLU", build.input("x", (3,)), name="out"))
    procedure = Procedure(goal=goal, loss=Recipe("Huber", {"delta": 0.5}) if goal is Goal.GRADIENTS else None)
    labels = {"out": np.ones((2, 3), np.float32)} if goal is Goal.GRADIENTS else {}
    return Case(graph, procedure, inputs={"x": np.ones((2, 3), np.float32)}, labels=labels)


def tried(case: Case, outcome: Outcome, done: list[Outcome]) -> list[FailureCheck]:
    return [trial for group in failure_search(case, outcome, done).groups for trial in group]


def raised(stage: str = "", node: str | None = None) -> Outcome:
    return Outcome(RAISED, Status.RAISED, failure=Failure("ValueError", "no such thing", node=node, stage=stage))


def done() -> Outcome:
    return Outcome(DONE, Status.COMPLETED, {"out": np.full((2, 3), 2.0, np.float32)})


def test_the_loss_is_tried_alone_on_what_somebody_predicted() -> None:
    first, whole = tried(network(), raised(), [done()])
    assert is_loss_alone(first.case)
    np.testing.assert_array_equal(first.case.inputs["p0"], 2.0)
    assert (first.stage, first.api, dict(first.parameters)) == (Stage.LOSS, "keras.losses.Huber", {"delta": 0.5})
    assert whole.case.digest == network().digest
    assert (whole.stage, whole.api) == (Stage.FORWARD, "")


def test_what_is_said_of_it_names_the_loss_and_no_layer() -> None:
    first = tried(network(), raised(), [done()])[0]
    diagnosis = first.diagnosis((RAISED,), {RAISED: raised(), DONE: done()})
    assert (diagnosis.api, diagnosis.node) == ("keras.losses.Huber", None)
    assert sentences(diagnosis)[-1] == f"{DONE} completed the same case on the same inputs"


def test_there_is_no_loss_to_try_before_anybody_predicted_something() -> None:
    assert [is_loss_alone(trial.case) for trial in tried(network(), raised(), [])] == [False]
    assert [is_loss_alone(trial.case) for trial in tried(network(), raised("build"), [done()])] == [False]
    assert len(tried(network(Goal.FORWARD), raised(), [done()])) == 1


def chain(**procedure: Any) -> Case:
    build = GraphBuilder("chain")
    middle = build.add("ReLU", build.input("x", (3,)), name="middle")
    graph = build.build(build.add("Softmax", middle, name="out"))
    given = {"x": np.ones((2, 3), np.float32)}
    return Case(graph, Procedure(**procedure), inputs=given, labels={"out": np.ones((2, 3), np.float32)})


def crashed() -> Outcome:
    return Outcome(RAISED, Status.CRASHED, failure=Failure("SIGFPE", "the worker process ended with SIGFPE"))


def test_whoever_dies_says_not_where_so_every_layer_is_tried_at_once() -> None:
    search = failure_search(chain(goal=Goal.GRADIENTS, loss=Recipe("Huber")), crashed(), [done()])
    assert [[(trial.stage, trial.api) for trial in group] for group in search.groups] == [
        [(Stage.FORWARD, "keras.layers.Softmax"), (Stage.FORWARD, "keras.layers.ReLU")],
        [(Stage.BACKWARD, "keras.layers.Softmax"), (Stage.BACKWARD, "keras.layers.ReLU")],
        [(Stage.LOSS, "keras.losses.Huber")],
        [(Stage.FORWARD, "")],
    ]
    assert search.known_by is search.whole


def test_on_the_way_back_every_layer_is_tried_backward() -> None:
    search = failure_search(chain(goal=Goal.GRADIENTS, loss=Recipe("Huber")), raised("backward"), [done()])
    assert [{trial.stage for trial in group} for group in search.groups[:2]] == [{Stage.FORWARD}, {Stage.BACKWARD}]
    assert search.whole.stage is Stage.BACKWARD


def test_what_ends_in_the_update_is_the_optimizers() -> None:
    recipe = Recipe("Adam", {"learning_rate": 0.1})
    case = chain(goal=Goal.UPDATE, loss=Recipe("Huber"), optimizer=recipe)
    search = failure_search(case, raised("update"), [done()])
    assert [len(group) for group in search.groups] == [1]
    whole = search.whole
    assert (whole.stage, whole.api, dict(whole.parameters)) == (Stage.UPDATE, "keras.optimizers.Adam", recipe.params)


def test_another_target_that_ends_elsewhere_ends_for_another_reason() -> None:
    whole = failure_search(chain(goal=Goal.GRADIENTS, loss=Recipe("Huber")), raised("backward"), [done()]).whole
    assert whole.ends_so(raised("backward"))
    assert not whole.ends_so(raised("update"))
    assert not whole.ends_so(raised("", node="middle#0"))


def test_a_layer_alone_may_be_refused_in_other_words() -> None:
    outcome = raised("", node="middle#0")
    first = failure_search(chain(), outcome, [done()]).groups[0][0]
    assert (first.stage, first.api) == (Stage.FORWARD, "keras.layers.ReLU")
    assert first.ends_so(Outcome("other", Status.RAISED, failure=Failure("TypeError", "in other words")))


@pytest.mark.parametrize(
    ("stage", "node", "expected"),
    [
        ("update", None, Stage.UPDATE),
        ("backward", None, Stage.BACKWARD),
        ("", "middle#0", Stage.FORWARD),
        ("", None, Stage.BUILD),
    ],
)
def test_how_far_it_came(stage: str, node: str | None, expected: Stage) -> None:
    assert stage_of_failure(Failure("ValueError", "no", node=node, stage=stage), otherwise=Stage.BUILD) is expected


def test_one_of_many_layers_has_to_end_with_the_same_exception() -> None:
    first = failure_search(chain(goal=Goal.GRADIENTS, loss=Recipe("Huber")), raised("backward"), [done()]).groups[0][0]
    assert not first.ends_so(Outcome(RAISED, Status.RAISED, failure=Failure("TypeError", "of its own")))
    assert first.ends_so(Outcome("other", Status.RAISED, failure=Failure("TypeError", "in its own words")))


def test_layers_of_one_kind_are_tried_in_every_shape() -> None:
    build = GraphBuilder("shapes")
    x = build.add("ReLU", build.input("x", (6, 2)), name="a")
    graph = build.build(build.add("ReLU", build.add("AveragePooling1D", x, name="pool", pool_size=2), name="b"))
    case = Case(graph, Procedure(goal=Goal.FORWARD), inputs={"x": np.ones((1, 6, 2), np.float32)})
    tried_first = failure_search(case, crashed(), []).groups[0]
    assert sorted(trial.node.layer for trial in tried_first if trial.node) == ["a", "b", "pool"]


def test_layers_that_fit_shapes_to_each_other_are_tried_last() -> None:
    build = GraphBuilder("long")
    x = build.add("ELU", build.input("x", (60,)), name="first")
    for size in range(2, 60):
        x = build.add("Reshape", x, name=f"r{size}", target_shape=[size * 60 // size, *[1] * (size % 4)])
    case = Case(build.build(x), Procedure(goal=Goal.GRADIENTS), inputs={"x": np.ones((1, 60), np.float32)})
    assert tried(case, raised("backward"), [done()])[0].api == "keras.layers.ELU"


def test_a_model_that_is_not_built_names_the_layer_itself() -> None:
    failure = Failure("ValueError", "Tensor from operation 'middle' is part of a cycle.", node="out#0", stage="build")
    first = tried(chain(), Outcome(RAISED, Status.RAISED, failure=failure), [])[0]
    assert (first.stage, first.api) == (Stage.BUILD, "keras.layers.ReLU")
