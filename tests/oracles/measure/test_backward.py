"""The judge of gradients knows right ones from wrong ones, whether the targets agree or not, and leaves kinks alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.reference.rounding import K
from tensorparity.oracles.isolated_checks import IsolatedCheck, backward_check
from tensorparity.oracles.measure.backward import GradientErrors, judge_pulled_back
from tensorparity.oracles.measure.diagnose import blame
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)

KERAS = dict.fromkeys(["one", "two", "three"], "keras")


def outcome(target: str, gradients: Mapping[str, Array]) -> Outcome:
    return Outcome(target, Status.COMPLETED, trace=Trace(gradients=dict(gradients)))


def found(trial: IsolatedCheck, **answers: Mapping[str, Array]) -> GradientErrors:
    outcomes = {target: outcome(target, gradients) for target, gradients in answers.items()}
    return judge_pulled_back(trial.case, outcomes, TRAITS)


def judged(trial: IsolatedCheck, **answers: Mapping[str, Array]) -> NodeErrors:
    return found(trial, **answers).errors


def dense(units: int, batch: int = 8) -> tuple[IsolatedCheck, dict[str, Array]]:
    """The backward pass of a dense layer, and its true gradients in float32."""
    rng = np.random.default_rng(0)
    x, kernel = (rng.standard_normal(shape).astype(np.float32) for shape in ((batch, units), (units, units)))
    node = Node("d", "Dense", (Ref("x"),), {"units": units, "use_bias": False})
    output = np.zeros((batch, units), np.float32)
    trial = backward_check(node, [x], output, {"d/kernel": kernel}, False, ["two"], 0)
    g = trial.case.cotangents["d#0"].astype(np.float64)
    right = {"input:d#0/0": g @ kernel.T, "weight:d/kernel": x.T @ g}
    return trial, {name: array.astype(np.float32) for name, array in right.items()}


@pytest.mark.parametrize("units", [64, 256])
def test_one_entry_of_a_kernels_gradient_that_is_zero(units: int) -> None:
    trial, right = dense(units)
    wrong = {name: array.copy() for name, array in right.items()}
    wrong["weight:d/kernel"][units // 3, units // 2] = 0.0
    errors = judged(trial, one=right, two=wrong)
    assert blame(errors, KERAS) == (Class.DEFECT, ("two",))


def test_the_true_gradient_passes_and_a_per_mille_fails() -> None:
    trial, right = dense(16)
    assert blame(judged(trial, one=right, two=right), KERAS) == (None, ())
    more = {name: array * np.float32(1.001) for name, array in right.items()}
    assert blame(judged(trial, one=right, two=more), KERAS) == (Class.DEFECT, ("two",))


def test_what_is_wrong_alike_everywhere_is_the_shared_code() -> None:
    trial, right = dense(4)
    doubled = {**right, "input:d#0/0": 2 * right["input:d#0/0"]}
    errors = judged(trial, one=doubled, two=doubled, three=doubled)
    assert blame(errors, KERAS) == (Class.DEFECT, ("keras",))


def test_a_gradient_that_is_missing_counts_as_zero() -> None:
    trial, right = dense(4)
    errors = judged(trial, one=right, two={"input:d#0/0": right["input:d#0/0"]})
    assert blame(errors, KERAS)[1] == ("two",)


def test_what_nobody_differentiates_by_is_held() -> None:
    """The moving statistics of a normalization matter to its output, and no library gives a gradient of them."""
    node = Node("n", "BatchNormalization", (Ref("x"),), {"scale": False, "center": False, "epsilon": 0.0})
    x = np.float32([[1.0, 2.0]])
    weights = {"n/moving_mean": np.float32([0.5, 0.5]), "n/moving_variance": np.float32([4.0, 0.25])}
    trial = backward_check(node, [x], x, weights, False, ["two"], 0)
    right = trial.case.cotangents["n#0"] / np.sqrt(weights["n/moving_variance"])
    answer = {"input:n#0/0": right}
    assert blame(judged(trial, one=answer, two=answer), KERAS) == (None, ())
    assert blame(judged(trial, one=answer, two={"input:n#0/0": right * 2}), KERAS)[1] == ("two",)


def relu(values: list[list[float]], **answers: list[list[float]]) -> NodeErrors:
    return relu_found(values, **answers).errors


def relu_found(values: list[list[float]], **answers: list[list[float]]) -> GradientErrors:
    x = np.asarray(values, np.float32)
    trial = backward_check(Node("relu", "ReLU", (Ref("x"),)), [x], x, {}, False, ["two"], 0)
    g = trial.case.cotangents["relu#0"]
    slopes = {target: {"input:relu#0/0": g * np.asarray(slope, np.float32)} for target, slope in answers.items()}
    return found(trial, **slopes)


def test_two_targets_are_enough() -> None:
    errors = relu([[1.0, -1.0]], one=[[1.0, 0.0]], two=[[1.0, 1.0]])
    assert blame(errors, {})[1] == ("two",)


def test_at_zero_relu_may_have_any_slope_between() -> None:
    said = relu_found([[0.0, 1.0]], one=[[0.0, 1.0]], two=[[1.0, 1.0]])
    assert said.free
    assert blame(said.errors, {}) == (None, ())


def test_what_cancels_in_the_formula_may_cancel_in_its_gradient() -> None:
    node = Node("norm", "LayerNormalization", (Ref("x0"),), {"epsilon": 1e-5, "center": False, "scale": False})
    x = np.array([[0.0], [0.1]], np.float32)  # of one number, the deviation from the mean is nothing
    trial = backward_check(node, [x], x, {}, False, ["two"], 0)
    one, two = ({"input:norm#0/0": np.float32(noise)} for noise in ([[0.0], [0.0]], [[3e-5], [-2e-5]]))
    assert blame(judged(trial, one=one, two=two), {}) == (None, ())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_wrong(bad: float) -> None:
    errors = relu([[1.0, -1.0]], one=[[1.0, 0.0]], two=[[bad, 0.0]])
    assert blame(errors, {})[1] == ("two",)


def test_numbers_beyond_float32_say_nothing_of_who_computes_in_it() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("Reshape", build.input("x", (2,), dtype="float64"), name="r", target_shape=(2, 1)))
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("r#0",), dtype="float64"),
        inputs={"r#0/0": np.ones((1, 2))},
        cotangents={"r#0": np.array([[[1.0], [1e64]]])},
    )
    true, infinite = np.array([[1.0, 1e64]]), np.array([[1.0, np.inf]])
    given = {"keras:tensorflow": true, "keras:jax": infinite, "keras:torch": true}
    found = judge_pulled_back(
        case, {t: outcome(t, {"input:r#0/0": array}) for t, array in given.items()}, traits=TRAITS
    )
    assert set(found.errors.errors) == {"keras:tensorflow"}
    assert found.errors.errors["keras:tensorflow"] <= K


def scaled(**answers: Array) -> NodeErrors:
    """A float64 that float32 has room for, times one that it has room for: their product it has not."""
    build = GraphBuilder()
    graph = build.build(build.add("Rescaling", build.input("x", (1,), dtype="float64"), name="r", scale=1e30))
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("r#0",), dtype="float64"),
        inputs={"r#0/0": np.ones((1, 1))},
        cotangents={"r#0": np.full((1, 1), 1e30)},
    )
    named = {f"keras:{backend}": array for backend, array in answers.items()}
    outcomes = {target: outcome(target, {"input:r#0/0": array}) for target, array in named.items()}
    return judge_pulled_back(case, outcomes, traits=TRAITS).errors


def test_what_overflows_on_the_way_is_not_judged_either() -> None:
    errors = scaled(tensorflow=np.full((1, 1), 1e60), jax=np.full((1, 1), np.inf))
    assert errors.errors.keys() == {"keras:tensorflow"}


def test_a_number_that_is_too_large_by_mistake_throws_nobody_out() -> None:
    errors = scaled(tensorflow=np.full((1, 1), 1e70), jax=np.full((1, 1), 1e30))
    assert errors.errors["keras:tensorflow"] > K
    assert "keras:jax" in errors.errors


def test_where_the_formula_jumps_within_a_step_any_number_may_be_right() -> None:
    """X / max(|x|, 1e-12) at 0: its derivative there is 1e12, which no difference of wider steps can tell."""
    build = GraphBuilder()
    graph = build.build(build.add("UnitNormalization", build.input("x", (2,)), name="u"))
    zeros = np.zeros((1, 2), np.float32)
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("u#0",)),
        inputs={"u#0/0": zeros},
        cotangents={"u#0": np.array([[1.0, 2.0]], np.float32)},
    )
    given = {"right": np.array([[1e12, 2e12]], np.float32), "other": zeros}
    outcomes = {target: outcome(target, {"input:u#0/0": array}) for target, array in given.items()}
    errors = judge_pulled_back(case, outcomes, traits=TRAITS).errors.errors
    assert max(errors.values()) <= K
