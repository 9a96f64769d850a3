"""Losses, gradients and steps with regularizers and constraints, judged on handmade outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Stage
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.isolated_checks import backward_check, penalty_check
from tensorparity.oracles.measure.own_gradients import own_error
from tensorparity.oracles.measure.penalties import has_penalties
from tensorparity.oracles.measure.steps import (
    governed_weights,
    holds_numbers,
    judge_constraints,
    judge_loss,
    judge_loss_gradient,
    judge_update,
    loss_error,
    update_error,
)
from tensorparity.oracles.screening import Screening
from tensorparity.targets.catalogue import TARGETS, traits_of
from tensorparity.targets.lowering.pytorch.graph import lower_to_torch

TRAITS = traits_of(TARGETS)

X = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
KERNEL = np.array([[2.0], [-1.0]], np.float32)
OUTPUT = X @ KERNEL  # [[0], [7]]
MSE = float(np.square(OUTPUT).mean())
#: 2 (y - 0) / 2
PULLED = OUTPUT.astype(np.float32)


def case_of(**params):
    build = GraphBuilder()
    y = build.add("Dense", build.input("x", (2,)), name="d", units=1, use_bias=False, **params)
    procedure = Procedure(
        goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD", {"learning_rate": 0.1})
    )
    return Case(build.build(y), procedure, {"x": X}, {"d": np.zeros((2, 1), np.float32)}, {"d/kernel": KERNEL})


def outcome(loss, gradient=None, after=None, target="one"):
    """A target's answer; ``gradient`` is that of the kernel, the one of the output is always the loss' own."""
    gradients = {"node:d#0": PULLED}
    gradients |= {} if gradient is None else {"weight:d/kernel": np.asarray(gradient, np.float32)}
    weights = {} if after is None else {"d/kernel": np.asarray(after, np.float32)}
    trace = Trace(nodes={"d#0": OUTPUT}, loss=loss, gradients=gradients, weights=weights)
    return Outcome(target, Status.COMPLETED, {"d": OUTPUT}, trace)


@pytest.mark.parametrize(
    ("params", "added"),
    [
        ({}, 0.0),
        ({"kernel_regularizer": "l1"}, 0.03),
        ({"kernel_regularizer": "l2"}, 0.05),
        ({"activity_regularizer": "l2"}, 0.01 * 49 / 2),
        ({"bias_regularizer": "l2"}, 0.0),
        ({"kernel_regularizer": "l2", "activity_regularizer": "l1"}, 0.05 + 0.01 * 7 / 2),
    ],
)
def test_a_loss_is_held_against_the_formula_and_what_layers_add(params, added):
    case = case_of(**params)
    assert loss_error(case, outcome(MSE + added), MSE + added, traits=TRAITS) <= 1.0
    assert loss_error(case, outcome(MSE + added), MSE + added + 0.01, traits=TRAITS) > K
    errors = judge_loss(case.subject.nodes[0], case, {"one": outcome(MSE + added + 0.01)}, traits=TRAITS)
    assert errors is not None
    assert errors.errors["one"] > K


def test_a_penalty_without_a_formula_leaves_the_loss_unjudged():
    case = case_of(kernel_regularizer={"class_name": "OrthogonalRegularizer", "config": {}})
    assert has_penalties(case)
    assert judge_loss(case.subject.nodes[0], case, {"one": outcome(1.0)}, traits=TRAITS) is None
    half = case_of(activity_regularizer="l2")
    half = replace(half, procedure=replace(half.procedure, dtype="mixed_float16"))
    assert judge_loss(half.subject.nodes[0], half, {"one": outcome(1.0)}, traits=TRAITS) is None


@pytest.mark.parametrize(
    ("params", "added"),
    [
        ({}, 0.0),
        ({"kernel_regularizer": "l2"}, 0.02 * KERNEL),
        ({"kernel_regularizer": "l1"}, 0.01 * np.sign(KERNEL)),
        ({"activity_regularizer": "l2"}, X.T @ (0.02 * OUTPUT / 2)),
    ],
)
def test_a_weights_gradient_holds_what_layers_add(params, added):
    case = case_of(**params)
    right = X.T @ PULLED + added
    assert own_error(case, "weight:d/kernel", outcome(MSE, right)) == 0.0
    wrong = own_error(case, "weight:d/kernel", outcome(MSE, right + 0.01))
    assert wrong is not None
    assert wrong > K


def test_the_gradient_of_an_output_is_that_of_what_reads_it():
    case = case_of(activity_regularizer="l2")
    found = judge_loss_gradient(case, {"one": outcome(MSE)}, traits=TRAITS)
    assert found is not None
    assert found.errors.errors["one"] == 0.0


@pytest.mark.parametrize(
    ("constraint", "after"),
    [
        ("non_neg", [[2.0 - 0.1], [0.0]]),
        ("unit_norm", np.array([[1.9], [-1.2]]) / np.sqrt(1.9**2 + 1.2**2)),
        ({"class_name": "MaxNorm", "config": {"max_value": 0.5}}, 0.5 * np.array([[1.9], [-1.2]]) / np.hypot(1.9, 1.2)),
    ],
)
def test_a_step_is_held_to_its_constraint(constraint, after):
    case, gradient = case_of(kernel_constraint=constraint), [[1.0], [2.0]]
    right, free = outcome(MSE, gradient, after), outcome(MSE, gradient, [[1.9], [-1.2]])
    assert governed_weights(case) == {"d/kernel": constraint}
    assert update_error(case, free) == 0.0  # left to the constraint
    (errors,) = judge_constraints(case, {"one": right, "two": free})
    assert errors.errors["one"] <= K < errors.errors["two"]
    assert errors.node.name == "d"
    judged = judge_update(case, {"one": right, "two": free})
    assert judged is not None
    assert set(judged.errors.values()) == {0.0}


def test_without_a_constraint_the_optimizer_alone_is_judged():
    case = case_of()
    assert judge_constraints(case, {"one": outcome(MSE, [[1.0], [2.0]], [[0.0], [0.0]])}) == []
    assert update_error(case, outcome(MSE, [[1.0], [2.0]], [[1.9], [-1.2]])) <= K
    assert update_error(case, outcome(MSE, [[1.0], [2.0]], [[1.9], [0.0]])) > K


def test_doubts_of_a_penalty_and_of_a_constraint_are_tried_in_the_layer():
    case = case_of(kernel_regularizer="l2", kernel_constraint="non_neg")
    unheld = outcome(MSE + 0.05, X.T @ PULLED + 0.02 * KERNEL, [[0.0], [-0.3]])
    trials = list(
        Screening(case, {"one": replace(unheld, trace=replace(unheld.trace, loss=MSE))}, traits=TRAITS).loss()
    )
    assert [trial.api for trial in trials[:1]] == ["keras.layers.Dense"]
    assert trials[0].stage is Stage.LOSS
    assert trials[0].parameters["kernel_regularizer"] == "l2"
    (held,) = [
        trial for trial in Screening(case, {"one": unheld}, traits=TRAITS).update() if trial.stage is Stage.UPDATE
    ]
    assert held.api == "keras.layers.Dense"


def test_a_layer_alone_is_tried_with_its_penalty():
    case = case_of(kernel_regularizer="l2")
    (node,) = case.subject.nodes
    trial = penalty_check(node, [X], OUTPUT, case.weights, False, ["one"], 0)
    alone = Outcome("one", Status.COMPLETED, {"d": OUTPUT}, Trace(nodes={"d#0": OUTPUT}, loss=0.05))
    without = replace(alone, trace=replace(alone.trace, loss=0.0))
    for given, right in ((alone, True), (without, False)):
        errors = judge_loss(trial.node, trial.case, {"one": given}, TRAITS)
        assert errors is not None
        assert errors.errors["one"] <= 1.0 if right else errors.errors["one"] > K
    backward = backward_check(node, [X], OUTPUT, case.weights, False, ["one"], 0)
    assert backward.case.procedure.goal is Goal.GRADIENTS
    assert backward.again is not None
    assert backward.again.case.procedure.goal is Goal.REPLAY
    norm = Node("n", "BatchNormalization", (Ref("x"),), {"gamma_regularizer": "l2"})
    weights = {f"n/{name}": np.ones(2, np.float32) for name in ("gamma", "beta", "moving_mean", "moving_variance")}
    by_batch = backward_check(norm, [X], X, weights, True, ["one"], 0)  # which has a formula of its own, alone
    assert by_batch.case.procedure.goal is Goal.REPLAY
    plain = backward_check(case_of().subject.nodes[0], [X], OUTPUT, case.weights, False, ["one"], 0)
    assert plain.case.procedure.goal is Goal.REPLAY


def test_native_torch_runs_forward_and_refuses_the_loss():
    case = case_of(kernel_regularizer="l2", kernel_constraint="non_neg")
    gradients = replace(case, procedure=Procedure(goal=Goal.GRADIENTS, loss=case.procedure.loss))
    refused = lower_to_torch(gradients)
    assert isinstance(refused, str)
    assert "adds to the loss" in refused
    assert not isinstance(lower_to_torch(replace(case, procedure=Procedure(), labels={})), str)
    held = replace(gradients, subject=case_of(kernel_constraint="non_neg").subject)
    assert not isinstance(lower_to_torch(held), str)


def test_a_step_that_a_loss_scale_skips_is_held_to_nothing():
    inner = {"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.1}}
    case = case_of(kernel_constraint="non_neg")
    recipe = Recipe("LossScaleOptimizer", {"inner_optimizer": {**inner, "registered_name": None}})
    case = replace(case, procedure=replace(case.procedure, optimizer=recipe))
    skipped = outcome(MSE, [[1.0], [2.0]], KERNEL)
    elsewhere = {**skipped.trace.gradients, "weight:e/kernel": np.array([np.inf], np.float32)}
    skipped = replace(skipped, trace=replace(skipped.trace, gradients=elsewhere))
    (errors,) = judge_constraints(case, {"one": skipped})
    assert errors.errors["one"] <= K


def test_what_is_no_number_is_not_put_down_to_a_constraint():
    case = case_of(kernel_constraint="non_neg")
    broken = outcome(MSE, [[1.0], [2.0]], [[np.nan], [np.nan]])
    assert not holds_numbers(case, case.subject.nodes[0], broken)
    assert [
        trial for trial in Screening(case, {"one": broken}, traits=TRAITS).update() if trial.stage is Stage.UPDATE
    ] == []


def test_who_was_run_forward_only_leaves_the_loss_to_the_others():
    case = case_of()
    forward = replace(outcome(MSE), trace=replace(outcome(MSE).trace, loss=None))
    judged = judge_loss(
        case.subject.nodes[0], case, {"one": outcome(MSE + 1.0), "two": outcome(MSE), "three": forward}, traits=TRAITS
    )
    assert judged is not None
    assert (set(judged.errors), judged.errors["one"] > K, judged.errors["two"] <= K) == ({"one", "two"}, True, True)
    assert judge_loss(case.subject.nodes[0], case, {"three": forward}, traits=TRAITS) is None
