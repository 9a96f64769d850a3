"""What a training step leaves in a layer besides the optimizer's work, on handmade outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Judgement, Stage
from tensorparity.operators.reference.evaluate import draw_weights, evaluate_node
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.measure.states import judge_states
from tensorparity.oracles.measure.steps import loss_of
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.runner import open_runner

from ..judging import judge
from ..stepping import ExaminedSteps

TRAITS = traits_of(TARGETS)

A, B, C = "keras:tensorflow", "keras:torch", "keras:jax"
KERAS = dict.fromkeys((A, B, C), "keras")
MOMENTUM = 0.9


@pytest.fixture
def case() -> Case:
    build, rng = GraphBuilder(), np.random.default_rng(0)
    graph = build.build(build.add("BatchNormalization", build.input("x", (3,)), name="bn", momentum=MOMENTUM))
    procedure = Procedure(
        goal=Goal.UPDATE,
        training=True,
        loss=Recipe("MeanSquaredError"),
        optimizer=Recipe("SGD", {"learning_rate": 0.1}),
    )
    inputs = {"x": rng.standard_normal((4, 3)).astype(np.float32)}
    labels = {"bn": np.zeros((4, 3), np.float32)}
    return Case(graph, procedure, inputs, labels, draw_weights(graph, rng))


def outcome(case: Case, target: str, **off: float) -> Outcome:
    """A step in which gamma and beta have no gradient, so that everything the layer holds is a state."""
    (node,) = case.subject.nodes
    x = case.inputs["x"]
    value = evaluate_node(node, [x], case.weights, training=case.procedure.training)[0].value.astype(np.float32)
    after = dict(case.weights)
    if case.procedure.training:
        for name, batch in (("bn/moving_mean", x.mean(0)), ("bn/moving_variance", x.var(0))):
            after[name] = (MOMENTUM * after[name] + (1 - MOMENTUM) * batch).astype(np.float32)
    for name, by in off.items():
        after[f"bn/{name}"] = after[f"bn/{name}"] + np.float32(by)
    found = Outcome(target, Status.COMPLETED, {"bn": value}, Trace({node.key: value}, weights=after))
    loss = loss_of(case, found)
    assert loss is not None
    return replace(found, trace=replace(found.trace, loss=float(loss.value)))


class Stepping:
    def __init__(self, **off: float) -> None:
        self.off = off
        self.targets = (A, B, C)

    def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None):
        return [outcome(case, target, **(self.off if target == B else {})) for case, target in pairs]


@pytest.mark.parametrize("training", [True, False])
def test_moving_statistics_have_a_formula(case: Case, training: bool) -> None:
    case = replace(case, procedure=replace(case.procedure, training=training))
    (right,) = judge_states(case, {target: outcome(case, target) for target in (A, B)}, traits=TRAITS)
    assert right.judged_by == "reference"
    assert all(error <= K for error in right.errors.values())
    (wrong,) = judge_states(case, {A: outcome(case, A), B: outcome(case, B, moving_variance=1e-3)}, traits=TRAITS)
    assert [target for target, error in wrong.errors.items() if error > K] == [B]


@pytest.mark.parametrize("name", ["moving_mean", "moving_variance", "gamma"])
def test_fuzz_and_replay_convict_the_layer_that_holds_something_wrong(case: Case, name: str) -> None:
    runner = Stepping(**{name: 7.0})
    examiner = ExaminedSteps(runner, runner.targets, KERAS)
    (step,) = examiner.examine([case])
    (found,) = examiner.confirm()
    assert (found.stage, found.diagnosis.api) == (Stage.UPDATE, "keras.layers.BatchNormalization")
    assert (found.diagnosis.klass, found.diagnosis.suspects) == (Class.DEFECT, (B,))
    again, _ = judge(case, {target: outcome(case, target, **(runner.off if target == B else {})) for target in (A, B)})
    assert again is not None
    assert again.key == found.key


def test_nothing_is_found_where_they_are_right(case: Case) -> None:
    runner = Stepping()
    examiner = ExaminedSteps(runner, runner.targets, KERAS)
    (step,) = examiner.examine([case])
    assert {verdict.judgement for verdict in step.verdicts} == {Judgement.PASS}
    assert examiner.confirm() == []


@pytest.mark.torch
def test_moving_statistics_behind_a_mask_are_of_what_it_shows() -> None:
    build, rng = GraphBuilder(), np.random.default_rng(0)
    hidden = build.add("Masking", build.input("x", (4, 3)))
    graph = build.build(build.add("BatchNormalization", hidden, name="bn", momentum=0.5))
    x = rng.standard_normal((2, 4, 3)).astype(np.float32)
    x[:, 2:] = 0.0
    procedure = Procedure(Goal.UPDATE, training=True, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
    labels = {"bn": np.zeros((2, 4, 3), np.float32)}
    case = Case(graph, procedure, {"x": x}, labels, draw_weights(graph, rng))
    with open_runner([B]) as runner:
        (done,) = runner.run_pairs([(case, B)])
    assert done.completed, done.failure
    (right,) = judge_states(case, {B: done}, traits=TRAITS)
    assert (right.judged_by, right.errors[B] <= K) == ("reference", True)
    whole = 0.5 * case.weights["bn/moving_mean"] + 0.5 * x.mean((0, 1))  # as if nothing were hidden
    weights = {**done.trace.weights, "bn/moving_mean": whole}
    (wrong,) = judge_states(case, {B: replace(done, trace=replace(done.trace, weights=weights))}, traits=TRAITS)
    assert wrong.errors[B] > K
