"""What a script claims of a training step: by the formula, where the catalogue has one."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Form, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.losses.alone import loss_alone
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.reproduce.expectations import claim_of
from tensorparity.triage.reproduce.script import ScriptParts, assemble
from tensorparity.triage.reproduce.scripts import render
from tensorparity.triage.reproduce.training_claims import claim_by_formula

TF, JAX, TORCH = "keras:tensorflow", "keras:jax", "keras:torch"


def step() -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (1,)), name="d", units=1, use_bias=False))
    procedure = Procedure(
        goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD", {"learning_rate": 0.5})
    )
    ones = np.ones((1, 1), np.float32)
    return Case(graph, procedure, {"x": ones}, {"d": 0 * ones}, {"d/kernel": 3 * ones})


def stepped(after: float, gradient: float = 6.0) -> Outcome:
    one = np.ones((1, 1), np.float32)
    trace = Trace(loss=9.0, gradients={"weight:d/kernel": gradient * one}, weights={"d/kernel": after * one})
    return Outcome(TF, Status.COMPLETED, {"d": 3 * one}, trace)


def test_a_step_that_is_off_by_less_than_a_vote_would_see() -> None:
    claim = claim_by_formula(step(), Stage.UPDATE, stepped(1e-4))
    assert claim is not None
    assert (claim.group, claim.name, claim.expected.tolist()) == ("weights", "d/kernel", [[0.0]])
    assert claim.off == pytest.approx(1e-4)
    assert claim.tolerance < 1e-5
    assert claim.formula


def test_of_a_right_step_nothing_is_claimed() -> None:
    assert claim_by_formula(step(), Stage.UPDATE, stepped(0.0)) is None


def huber(loss: float, gradient: float) -> tuple[Case, Outcome]:
    two = np.full((1, 1), 2.0, np.float32)
    case = loss_alone(Recipe("Huber"), {"p": two}, {"p": 0 * two}, dtype=None, seed=0)
    name = case.subject.outputs[0].node  # type: ignore[union-attr]
    trace = Trace(loss=loss, gradients={"input:p0": gradient * two / 2})
    return case, Outcome(TF, Status.COMPLETED, {name: two}, trace)


def test_a_loss_that_everybody_has_wrong_is_claimed_by_its_formula() -> None:
    claim = claim_by_formula(huber(2.0, 1.0)[0], Stage.LOSS, huber(2.0, 1.0)[1])
    assert claim is not None
    assert (claim.group, float(claim.expected)) == ("losses", 1.5)


def test_and_so_is_its_gradient() -> None:
    case, own = huber(1.5, 3.0)
    claim = claim_by_formula(case, Stage.BACKWARD, own)
    assert claim is not None
    assert (claim.group, claim.name) == ("gradients", "input:p0")
    np.testing.assert_allclose(claim.expected, [[1.0]], rtol=1e-6)


def test_of_a_right_gradient_nothing_is_claimed() -> None:
    case, own = huber(1.5, 1.0)
    assert claim_by_formula(case, Stage.BACKWARD, own) is None


def at_a_kink(gradient: float) -> tuple[Case, Outcome]:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (1,)), name="r", negative_slope=0.5))
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("r#0",)),
        inputs={"r#0/0": np.zeros((1, 1), np.float32)},
        cotangents={"r#0": np.ones((1, 1), np.float32)},
    )
    trace = Trace(gradients={"input:r#0/0": np.full((1, 1), gradient, np.float32)})
    return case, Outcome(TF, Status.COMPLETED, {}, trace)


@pytest.mark.parametrize("gradient", [0.5, 0.8, 1.0])
def test_at_a_kink_all_between_the_slopes_is_right(gradient: float) -> None:
    case, own = at_a_kink(gradient)
    assert claim_by_formula(case, Stage.BACKWARD, own) is None


@pytest.mark.parametrize("gradient", [0.0, 7.0])
def test_and_a_script_says_so_of_what_is_not(gradient: float) -> None:
    case, own = at_a_kink(gradient)
    claim = claim_by_formula(case, Stage.BACKWARD, own)
    assert claim is not None
    assert claim.element == (0, 0)
    assert float(claim.expected[0, 0]) == pytest.approx(0.75)
    assert claim.between == pytest.approx((0.5, 1.0))
    assert claim.tolerance < 0.01
    assert claim.off == pytest.approx(0.5 if gradient == 0.0 else 6.0)


@pytest.mark.parametrize(("observed", "code"), [(0.0, 0), (1.086, 0), (0.4, 0), (-0.01, 1), (1.1, 1)])
def test_the_ends_of_a_kink_are_right_in_a_script(observed: float, code: int) -> None:
    claim = Claim(
        "gradients", "x", np.array([0.543]), 1e-4, "us", observed=np.array([9.0]), element=(0,), between=(0.0, 1.086)
    )
    steps = ScriptParts(["import sys", "import numpy as np"], [f"observed = np.array([{observed}], 'float32')"])
    text = assemble("So.", Kind.INCONSISTENCY, steps, claim)
    assert subprocess.run([sys.executable, "-c", text], check=False, capture_output=True).returncode == code


def tied(*gradient: float) -> tuple[Case, Outcome]:
    """The largest of two equal numbers and a smaller one, pulled back."""
    build = GraphBuilder()
    graph = build.build(build.add("GlobalMaxPooling1D", build.input("x", (3, 1)), name="m"))
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("m#0",)),
        inputs={"m#0/0": np.array([[[2.0], [1.0], [2.0]]], np.float32)},
        cotangents={"m#0": np.full((1, 1), 4.0, np.float32)},
    )
    trace = Trace(gradients={"input:m#0/0": np.array(gradient, np.float32).reshape(1, 3, 1)})
    return case, Outcome(TF, Status.COMPLETED, {}, trace)


@pytest.mark.parametrize("gradient", [(4, 0, 0), (0, 0, 4), (2, 0, 2), (1, 0, 3)])
def test_a_tie_may_be_shared_in_any_way(gradient: tuple[float, ...]) -> None:
    case, own = tied(*gradient)
    assert claim_by_formula(case, Stage.BACKWARD, own) is None


@pytest.mark.parametrize(("gradient", "total"), [((4, 0, 4), 8), ((1, 0, 1), 2)])
def test_but_the_shares_add_up_and_a_script_adds_them(gradient: tuple[float, ...], total: float) -> None:
    case, own = tied(*gradient)
    claim = claim_by_formula(case, Stage.BACKWARD, own)
    assert claim is not None
    assert (claim.expected, claim.observed) == (pytest.approx(4.0), total)
    text = render(suspicion(case, Kind.INCONSISTENCY, Stage.BACKWARD), TF, claim, traits_of([TF]))
    assert "observed = observed[[0, 0], [0, 2], [0, 0]].sum()" in text


def overlapping(cotangents: tuple[float, float], gradient: tuple[float, ...]) -> tuple[Case, Outcome]:
    """Two windows over three equal numbers: each chooses one of its two for itself."""
    build = GraphBuilder()
    pooled = build.add("MaxPooling1D", build.input("x", (3, 1)), name="m", pool_size=2, strides=1)
    case = Case(
        build.build(pooled),
        Procedure(goal=Goal.REPLAY, nodes=("m#0",)),
        inputs={"m#0/0": np.full((1, 3, 1), 2.0, np.float32)},
        cotangents={"m#0": np.array(cotangents, np.float32).reshape(1, 2, 1)},
    )
    trace = Trace(gradients={"input:m#0/0": np.array(gradient, np.float32).reshape(1, 3, 1)})
    return case, Outcome(TF, Status.COMPLETED, {}, trace)


@pytest.mark.parametrize(
    ("cotangents", "gradient"),
    [((1, -1), (1, -1, 0)), ((1, -1), (0, 0, 0)), ((2, -1), (0, 2, -1)), ((2, -1), (2, -1, 0))],
)
def test_each_output_has_a_kink_of_its_own(cotangents: tuple[float, float], gradient: tuple[float, ...]) -> None:
    """Cotangents of both signs do not narrow what is right."""
    case, own = overlapping(cotangents, gradient)
    assert claim_by_formula(case, Stage.BACKWARD, own) is None


def test_beyond_all_kinks_it_is_wrong() -> None:
    case, own = overlapping((1, -1), (1, -2, 0))
    assert claim_by_formula(case, Stage.BACKWARD, own) is not None


def test_numbers_that_are_none_are_no_tie() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("Cropping1D", build.input("x", (4, 1)), name="c", cropping=[2, 0]))
    case = Case(
        graph,
        Procedure(goal=Goal.REPLAY, nodes=("c#0",)),
        inputs={"c#0/0": np.array([np.nan, np.nan, 1.0, 2.0], np.float32).reshape(1, 4, 1)},
        cotangents={"c#0": np.ones((1, 2, 1), np.float32)},
    )
    trace = Trace(gradients={"input:c#0/0": np.array([0.0, 0.0, 1.0, 1.0], np.float32).reshape(1, 4, 1)})
    assert claim_by_formula(case, Stage.BACKWARD, Outcome(TF, Status.COMPLETED, {}, trace)) is None


def suspicion(case: Case, kind: Kind, stage: Stage, **more: str) -> Suspicion:
    diagnosis = Diagnosis(Class.DEFECT, (TF,), api="keras.layers.X")
    return Suspicion(kind, diagnosis, case, (TF, JAX, TORCH), stage=stage, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax"])
def test_what_ends_on_its_way_back_is_pulled_back_in_the_script(backend: str) -> None:
    """Whoever answered says nothing of what the suspect should give: that it gives something is enough."""
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (1,)), name="r"))
    one = np.ones((1, 1), np.float32)
    case = Case(graph, Procedure(goal=Goal.REPLAY, nodes=("r#0",)), inputs={"r#0/0": one}, cotangents={"r#0": one})
    suspect = f"keras:{backend}"
    outcomes = {
        suspect: Outcome(suspect, Status.RAISED, failure=Failure("LookupError", "no gradient")),
        "other": Outcome("other", Status.COMPLETED, trace=Trace(nodes={"r#0": one}, gradients={"input:r#0/0": one})),
    }
    ended = suspicion(case, Kind.ERROR, Stage.BACKWARD, exception="LookupError")
    assert claim_of(ended, outcomes, suspect) is None
    script = render(ended, suspect, None, traits_of([suspect]))
    assert {"tensorflow": "tape.gradient", "torch": ".backward(", "jax": "jax.vjp"}[backend] in script
    compile(script, "script", "exec")


def test_a_shape_of_a_second_output_is_held_against_what_was_announced() -> None:
    build = GraphBuilder()
    q = build.input("q", (2, 2, 2))
    layer = build.add("MultiHeadAttention", q, q, name="m", num_heads=1, key_dim=1)
    graph = build.build(layer)
    case = Case(graph, inputs={"q": np.ones((1, 2, 2, 2), np.float32)})
    trace = Trace(symbolic={"m#0": Form((None, 2, 2, 3), "float32")})
    own = Outcome(TF, Status.COMPLETED, {"m": np.ones((1, 2, 2, 2), np.float32)}, trace)
    claim = claim_of(suspicion(case, Kind.SHAPE, Stage.FORWARD), {TF: own}, TF)
    assert claim is not None
    assert (claim.name, claim.expected.shape) == ("m", (1, 2, 2, 3))


def test_a_layer_in_training_has_a_formula_as_well() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (1,)), name="r"))
    case = Case(graph, Procedure(training=True), inputs={"x": np.full((1, 1), -1.0, np.float32)})
    own = Outcome(TF, Status.COMPLETED, {"r": np.ones((1, 1), np.float32)})
    claim = claim_of(suspicion(case, Kind.INCONSISTENCY, Stage.FORWARD), {TF: own}, TF)
    assert claim is not None
    assert (claim.source, claim.expected.tolist()) == ("the float64 reference", [[0.0]])
    assert claim.formula


def test_the_sentence_of_a_layer_in_inference_is_not_said_of_training() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("BatchNormalization", build.input("x", (1,)), name="b"))
    weights = {f"b/{name}": np.ones(1, np.float32) for name in ("gamma", "beta", "moving_mean", "moving_variance")}
    own = Outcome(TF, Status.COMPLETED, {"b": np.full((2, 1), 9.0, np.float32)})
    for training in (True, False):
        case = Case(graph, Procedure(training=training), {"x": np.array([[1.0], [3.0]], np.float32)}, weights=weights)
        claim = claim_of(suspicion(case, Kind.INCONSISTENCY, Stage.FORWARD), {TF: own}, TF)
        assert claim is not None
        assert bool(claim.formula) is not training


def test_a_dtype_that_was_announced_wrongly_too_is_held_against_the_policy() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (1,)), name="r"))
    one = np.ones((1, 1), np.float32)
    case = Case(graph, Procedure(dtype="float64"), inputs={"x": one})
    own = Outcome(TF, Status.COMPLETED, {"r": one})
    claim = claim_of(suspicion(case, Kind.DTYPE, Stage.FORWARD), {TF: own}, TF)
    assert claim is not None
    assert (claim.name, claim.dtype) == ("r", "float64")


def test_several_layers_in_training_have_formulas_as_well() -> None:
    build = GraphBuilder()
    masked = build.add("Masking", build.input("x", (2, 1)), name="m")
    graph = build.build(build.add("SimpleRNN", masked, name="r", units=1, zero_output_for_mask=True))
    one = np.ones((1, 1), np.float32)
    cell = "r/simple_rnn_cell"
    weights = {f"{cell}/kernel": one, f"{cell}/recurrent_kernel": 0 * one, f"{cell}/bias": np.zeros(1, np.float32)}
    given = {"x": np.array([[[1.0], [0.0]]], np.float32)}
    case = Case(graph, Procedure(training=True), given, weights=weights)
    own = Outcome(TF, Status.COMPLETED, {"r": 0 * one})
    claim = claim_of(suspicion(case, Kind.INCONSISTENCY, Stage.FORWARD), {TF: own}, TF)
    assert claim is not None
    np.testing.assert_allclose(claim.expected, [[np.tanh(1.0)]])
