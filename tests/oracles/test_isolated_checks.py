"""Trials of optimizers and losses, on handmade outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Stage
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.isolated_checks import backward_check, loss_checks, step_alone, update_check
from tensorparity.oracles.measure.diagnose import blame
from tensorparity.oracles.measure.steps import judge_loss, judge_loss_gradient, judge_update, update_error
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)


@pytest.fixture
def case():
    builder = GraphBuilder()
    y = builder.add("Dense", builder.input("x", (1,)), name="d", units=1, use_bias=False)
    procedure = Procedure(
        goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD", {"learning_rate": 0.1})
    )
    inputs, labels = {"x": np.ones((2, 1), np.float32)}, {"d": np.zeros((2, 1), np.float32)}
    return Case(builder.build(y), procedure, inputs, labels, {"d/kernel": np.full((1, 1), 2.0, np.float32)})


def stepped(after, gradient):
    trace = Trace(
        gradients={"weight:d/kernel": np.full((1, 1), gradient, np.float32)},
        weights={"d/kernel": np.full((1, 1), after, np.float32)},
    )
    return Outcome("one", Status.COMPLETED, {}, trace)


def test_a_step_is_held_against_the_targets_own_gradient(case):
    assert update_error(case, stepped(1.6, 4.0)) < K
    assert update_error(case, stepped(1.5, 4.0)) > K


@pytest.mark.parametrize("gradient", [1e30, np.inf, np.nan])
def test_a_gradient_whose_square_overflows_says_nothing_of_the_optimizer(case, gradient):
    assert update_error(case, stepped(0.0, gradient)) == 0.0


def test_who_gave_no_weights_is_not_right_for_that(case):
    outcomes = {"one": stepped(1.5, 4.0), "two": stepped(1.5, 4.0), "three": Outcome("three", Status.COMPLETED)}
    errors = judge_update(case, outcomes)
    assert errors is not None
    assert blame(errors, dict.fromkeys(outcomes, "keras")) == (Class.DEFECT, ("keras",))


def network() -> Case:
    builder = GraphBuilder()
    middle = builder.add("Dense", builder.input("x", (1,)), name="d", units=1, use_bias=False)
    y = builder.add("Dense", builder.add("ReLU", middle, name="r"), name="e", units=1, use_bias=False)
    recipe = Recipe("SGD", {"learning_rate": 0.1})
    weights = {"d/kernel": np.ones((1, 1), np.float32), "e/kernel": np.full((1, 1), 2.0, np.float32)}
    procedure = Procedure(goal=Goal.UPDATE, loss=Recipe("Huber"), optimizer=recipe, training=True)
    inputs, labels = {"x": np.ones((2, 1), np.float32)}, {"e": np.zeros((2, 1), np.float32)}
    return Case(builder.build(y), procedure, inputs, labels, weights)


def test_an_optimizer_is_tried_on_the_one_layer_it_steps_wrongly():
    case = network()
    ones = np.ones((1, 1), np.float32)
    trace = Trace(
        nodes={"d#0": np.ones((2, 1), np.float32), "r#0": np.full((2, 1), 3.0, np.float32), "e#0": ones},
        gradients={"weight:d/kernel": ones, "weight:e/kernel": ones},
        weights={"d/kernel": 0.9 * ones, "e/kernel": 5.0 * ones},
    )
    trial = update_check(case, ["one"])
    single = step_alone(trial, {"one": Outcome("one", Status.COMPLETED, {}, trace)})
    assert single is not None
    graph, procedure = single.case.subject, single.case.procedure
    assert [node.layer for node in graph.nodes] == ["e"]
    np.testing.assert_array_equal(single.case.inputs["x0"], 3.0)
    assert set(single.case.weights) == {"e/kernel"}
    assert (procedure.goal, procedure.optimizer, procedure.training) == (Goal.UPDATE, case.procedure.optimizer, True)
    assert (single.api, single.key) == (trial.api, trial.key)


def test_the_layer_alone_is_passed_back_what_the_network_passed():
    """A squared error's gradient is 2 (prediction - label) / size; what was 0 stays 0."""
    ones = np.ones((2, 1), np.float32)
    pull = np.array([[0.25], [0.0]], np.float32)
    trace = Trace(
        nodes={"d#0": ones, "r#0": 3 * ones, "e#0": 6 * ones},
        gradients={"weight:e/kernel": ones[:1], "node:e#0": pull},
        weights={"e/kernel": 5.0 * ones[:1]},
    )
    single = step_alone(update_check(network(), ["one"]), {"one": Outcome("one", Status.COMPLETED, {}, trace)})
    assert single is not None
    (labels,) = single.case.labels.values()
    np.testing.assert_array_equal(2 * (6 * ones - labels) / 2, pull)


@pytest.mark.parametrize(("output", "pull"), [(6.0, 5e-12), (-6e37, 3.4e38)], ids=["below float32", "beyond it"])
def test_a_gradient_that_no_label_gives_back_is_drawn(output, pull):
    ones = np.ones((2, 1), np.float32)
    trace = Trace(
        nodes={"d#0": ones, "r#0": 3 * ones, "e#0": np.full((2, 1), output, np.float32)},
        gradients={"weight:e/kernel": ones[:1], "node:e#0": np.full((2, 1), pull, np.float32)},
        weights={"e/kernel": 5.0 * ones[:1]},
    )
    single = step_alone(update_check(network(), ["one"]), {"one": Outcome("one", Status.COMPLETED, {}, trace)})
    assert single is not None
    (labels,) = single.case.labels.values()
    assert np.abs(labels).max() < 10
    assert (labels != trace.nodes["e#0"]).all()


def test_a_step_of_one_layer_is_as_small_as_it_gets(case):
    assert step_alone(update_check(case, ["one"]), {"one": stepped(1.5, 4.0)}) is None


PREDICTIONS = np.array([[1.0], [3.0]], np.float32)


def loss_outcome(target, value, gradient):
    trace = Trace(loss=value, gradients={"input:p0": np.asarray(gradient, np.float32)})
    return Outcome(target, Status.COMPLETED, {"y0": PREDICTIONS}, trace)


def test_a_loss_is_judged_by_its_value_and_by_its_gradient(case):
    value, gradient = loss_checks(case, {"d": PREDICTIONS}, ["two"])
    assert (value.stage, gradient.stage) == (Stage.LOSS, Stage.BACKWARD)
    right = loss_outcome("one", 5.0, [[1.0], [3.0]])
    wrong_value, wrong_gradient = loss_outcome("two", 5.1, [[1.0], [3.0]]), loss_outcome("two", 5.0, [[2.0], [6.0]])
    assert value.case.digest == gradient.case.digest

    def blamed(other):
        outcomes = {"one": right, "two": other}
        of_value = judge_loss(value.node, value.case, outcomes, TRAITS)
        of_gradient = judge_loss_gradient(gradient.case, outcomes, TRAITS)
        return blame(of_value, {})[1], blame(of_gradient.errors, {})[1]

    assert blamed(replace(right, target="two")) == ((), ())
    assert blamed(wrong_value) == (("two",), ())
    assert blamed(wrong_gradient) == ((), ("two",))


@pytest.mark.parametrize(("dtype", "largest"), [("mixed_float16", 1.0), ("mixed_bfloat16", 2.0**-12), (None, 2.0**-12)])
def test_what_would_vanish_in_float16_is_raised(dtype, largest):
    """The way back is linear, so that nothing else changes."""
    builder = GraphBuilder()
    graph = builder.build(builder.add("ReLU", builder.input("x", (2,)), name="r"))
    pulled = np.array([[2.0**-12, -(2.0**-13)]], np.float32)
    ones = np.ones((1, 2), np.float32)
    trial = backward_check(graph.nodes[0], [ones], ones, {}, False, ["one"], 0, dtype, pulled=pulled)
    (cotangent,) = trial.again.case.cotangents.values()
    assert np.abs(cotangent).max() == largest
    np.testing.assert_array_equal(cotangent / largest, pulled / 2.0**-12)
