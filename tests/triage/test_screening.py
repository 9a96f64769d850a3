"""Doubts about gradients where some target has nothing finite to try them on, on handmade outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Judgement, Stage
from tensorparity.oracles.measure.own_gradients import is_right
from tensorparity.oracles.screening import Screening
from tensorparity.targets.catalogue import TARGETS, traits_of

from ..stepping import Answering, ExaminedSteps

TRAITS = traits_of(TARGETS)

A, B, C = "keras:tensorflow", "keras:torch", "keras:jax"
KERAS = dict.fromkeys((A, B, C), "keras")
KERNEL = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
X = np.array([[0.5, -0.25]], np.float32)


@pytest.fixture
def case() -> Case:
    build = GraphBuilder()
    x = build.add("Activation", build.input("x", (2,)), name="a", activation="linear")
    graph = build.build(build.add("Dense", x, name="d", units=2, use_bias=False))
    procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))
    return Case(graph, procedure, {"x": X}, {"d": np.zeros((1, 2), np.float32)}, {"d/kernel": KERNEL})


def outcome(target: str, *, scale: float = 1.0, finite: bool = True) -> Outcome:
    """A step whose activation may be NaN, and whose gradient of it may be ``scale`` times the right one."""
    x = X if finite else np.full_like(X, np.nan)
    y = x @ KERNEL
    back = np.float32(2.0 / y.size) * y
    pulled = back @ KERNEL.T * np.float32(scale)
    gradients = {"node:d#0": back, "node:a#0": pulled, "input:x": pulled, "weight:d/kernel": x.T @ back}
    return Outcome(target, Status.COMPLETED, {"d": y}, Trace({"a#0": x, "d#0": y}, float(np.mean(y**2)), gradients))


def test_a_doubt_is_tried_on_whoever_has_finite_numbers(case: Case) -> None:
    outcomes = {A: outcome(A, finite=False), B: outcome(B, scale=2.0), C: outcome(C)}
    trials = [trial for trial in Screening(case, outcomes, traits=TRAITS).backward() if B in trial.suspects]
    assert trials
    assert all(trial.runs for trial in trials)
    assert all(np.isfinite(array).all() for trial in trials for array in trial.case.inputs.values())


def test_the_networks_own_cotangent_is_pulled_back_as_well(case: Case) -> None:
    outcomes = {A: outcome(A), B: outcome(B, scale=2.0), C: outcome(C)}
    (trial,) = Screening(case, outcomes, traits=TRAITS).backward()
    assert trial.again is not None
    assert np.array_equal(trial.again.case.cotangents["d#0"], outcomes[B].trace.gradients["node:d#0"])


@pytest.mark.parametrize("name", ["node:a#0", "weight:d/kernel"])
def test_a_gradient_is_right_or_wrong_on_its_own_numbers(case: Case, name: str) -> None:
    assert is_right(case, name, outcome(A))
    assert is_right(case, name, outcome(A, scale=2.0)) is (name == "weight:d/kernel")
    assert not is_right(case, name, outcome(A, finite=False)), "nothing can be said"


def test_a_tensor_that_is_read_twice_has_the_gradients_of_both() -> None:
    build = GraphBuilder()
    x = build.input("x", (2,))
    first, second = (build.add("Activation", x, name=name, activation="tanh") for name in "ab")
    graph = build.build(build.add("Add", first, second, name="y"))
    case = Case(graph, Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError")), {"x": X})
    value = np.tanh(X)
    back = np.ones_like(X)
    gradients = {"node:a#0": back, "node:b#0": back, "input:x": 2 * (1 - value**2) * back}
    trace = Trace({"a#0": value, "b#0": value, "y#0": 2 * value}, 1.0, gradients)
    assert is_right(case, "input:x", Outcome(A, Status.COMPLETED, {}, trace))
    gradients["input:x"] = gradients["input:x"] / 2
    assert not is_right(case, "input:x", Outcome(A, Status.COMPLETED, {}, trace))


def test_what_cannot_be_tried_stays_open(case: Case) -> None:
    """Nobody has finite inputs of the dense layer, and yet one of them passes a number back."""
    outcomes = {target: outcome(target, finite=False) for target in (A, B, C)}
    loud = outcomes[B].trace
    back = {**loud.gradients, "input:x": X, "node:a#0": X}
    outcomes[B] = Outcome(B, Status.COMPLETED, outcomes[B].outputs, Trace(loud.nodes, loud.loss, back))
    (step,) = ExaminedSteps(Answering(case, outcomes), (A, B, C), KERAS).examine([case])
    assert (Stage.BACKWARD.value, "keras.layers.Dense") in step.open
    assert {v.judgement for v in step.verdicts if B in v.targets} == {Judgement.UNDECIDED}


def test_a_gradient_that_all_have_wrong_is_doubted(case: Case) -> None:
    for targets in ((A, B, C), (A,)):
        wrong = {target: outcome(target, scale=2.0) for target in targets}
        assert [trial.api for trial in Screening(case, wrong, traits=TRAITS).backward()] == ["keras.layers.Dense"]
        assert not list(Screening(case, {target: outcome(target) for target in targets}, traits=TRAITS).backward())
