"""Rules of judging a case: what is ruled out, who dies of it, freedoms, losses, and gradients at kinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.functions.api import evaluate_call
from tensorparity.operators.losses.catalogue import evaluate_loss
from tensorparity.oracles.subjects import stage_of
from tensorparity.reporting.words import sentences

from ..examining import judge_case
from ..judging import judge

A, B, C = "keras:tensorflow", "keras:torch", "keras:jax"


def done(target: str, **outputs: Array) -> Outcome:
    return Outcome(target, Status.COMPLETED, outputs=outputs)


def ended(target: str, status: Status = Status.RAISED) -> Outcome:
    return Outcome(target, status, failure=Failure("ValueError", "no"))


def convolution(**params: object) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("Conv2D", build.input("x", (4, 4, 1)), name="layer", filters=1, **params))
    return Case(graph, inputs={"x": np.ones((1, 4, 4, 1), np.float32)})


class TestCallsOnStrings:
    CASE = Case(
        ApiCall("keras.layers.StringLookup", (ArrayArg("x"),), {"vocabulary": ("a", "b"), "invert": True}),
        Procedure(goal=Goal.CALL),
        inputs={"x": np.array([1, 2])},
    )

    def test_one_target_alone_may_be_wrong_about_words(self) -> None:
        right, wrong = (np.array(words, dtype=object) for words in (["a", "b"], ["b", "b"]))
        assert judge(self.CASE, {A: Outcome(A, Status.COMPLETED, {"0": right})}) == (None, "")
        suspicion, _ = judge(self.CASE, {A: Outcome(A, Status.COMPLETED, {"0": wrong})})
        assert suspicion is not None
        assert suspicion.diagnosis.suspects == (A,)
        assert "vocabulary" not in suspicion.diagnosis.parameters, "what a table holds is the case's"

    def test_three_that_end_in_three_ways(self) -> None:
        def raised(target: str, kind: str) -> Outcome:
            return Outcome(target, Status.RAISED, failure=Failure(kind, "no"))

        outcomes = {A: raised(A, "ValueError"), B: raised(B, "TypeError"), C: raised(C, "KeyError")}
        assert self._suspects(outcomes) == {(A,), (B,), (C,)}

    def _suspects(self, outcomes: dict[str, Outcome]) -> set[tuple[str, ...]]:
        checked = judge_case(_Nobody(), self.CASE, outcomes)
        return {suspicion.diagnosis.suspects for suspicion in checked.suspicions}

    @pytest.mark.parametrize("kind", ["NotImplementedError", "ValueError"])
    def test_an_ending_hides_no_wrong_answer_of_another(self, kind: str) -> None:
        right = np.asarray(evaluate_call(self.CASE.subject, dict(self.CASE.inputs)).value)
        outcomes = {
            A: Outcome(A, Status.RAISED, failure=Failure(kind, "not implemented")),
            B: Outcome(B, Status.COMPLETED, {"0": right}),
            C: Outcome(C, Status.COMPLETED, {"0": right[:0]}),
        }
        assert self._suspects(outcomes) == {(A,), (C,)}


class _Nobody:
    """A Runner that is not asked."""

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: object) -> list[Outcome]:
        raise AssertionError(pairs)


class TestRuledOut:
    def test_whoever_accepts_is_wrong(self) -> None:
        case = convolution(kernel_size=2, dilation_rate=0)
        suspicion, _ = judge(case, {A: ended(A), B: done(B, layer=np.zeros(1, np.float32))})
        assert suspicion is not None
        assert (suspicion.kind, suspicion.stage) == (Kind.ACCEPTS_INVALID, Stage.BUILD)
        assert suspicion.diagnosis.suspects == (B,)
        assert suspicion.diagnosis.parameters == {"dilation_rate": 0}
        assert f"{A} refuses it" in sentences(suspicion.diagnosis)

    def test_where_nobody_refuses_the_shared_code_is(self) -> None:
        outputs = {target: done(target, layer=np.zeros(1, np.float32)) for target in (A, B)}
        suspicion, _ = judge(convolution(kernel_size=2, strides=0), outputs)
        assert suspicion is not None
        assert suspicion.diagnosis.suspects == ("keras",)

    def test_refusing_is_right(self) -> None:
        assert judge(convolution(kernel_size=0), {A: ended(A), B: ended(B)}) == (None, "no target completed the case")

    def test_dying_is_not(self) -> None:
        suspicion, _ = judge(convolution(kernel_size=0), {A: ended(A), B: ended(B, Status.CRASHED)})
        assert suspicion is not None
        assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.CRASH, (B,))

    @pytest.mark.parametrize(("status", "kind"), [(Status.CRASHED, Kind.CRASH), (Status.TIMED_OUT, Kind.HANG)])
    def test_dying_is_not_even_where_another_answers(self, status: Status, kind: Kind) -> None:
        outcomes = {A: ended(A, status), B: done(B, layer=np.zeros(1, np.float32))}
        suspicion, _ = judge(convolution(kernel_size=0), outcomes)
        assert suspicion is not None
        assert (suspicion.kind, suspicion.diagnosis.suspects) == (kind, (A,))
        assert not any("refuses" in line for line in sentences(suspicion.diagnosis))

    @pytest.mark.parametrize("status", [Status.OUT_OF_MEMORY, Status.UNSUPPORTED])
    def test_only_raising_is_refusing(self, status: Status) -> None:
        outcomes = {A: ended(A, status), B: done(B, layer=np.zeros(1, np.float32))}
        suspicion, _ = judge(convolution(kernel_size=0), outcomes)
        assert suspicion is not None
        assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.ACCEPTS_INVALID, (B,))
        assert not any("refuses" in line for line in sentences(suspicion.diagnosis))

    def test_a_pair_is_not_ruled_out_because_another_rank_is(self) -> None:
        case = convolution(kernel_size=[2, 2])
        suspicion, _ = judge(case, {A: done(A), B: done(B)})
        assert suspicion is None or suspicion.kind is not Kind.ACCEPTS_INVALID


def identity(loss: str, x: Array, labels: Array) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("Identity", build.input("x", x.shape[1:]), name="out"))
    return Case(graph, Procedure(goal=Goal.GRADIENTS, loss=Recipe(loss)), inputs={"x": x}, labels={"out": labels})


def stepped(target: str, case: Case, gradient: Array, off: float = 0.0) -> Outcome:
    """What a training step says: the loss by its formula, and a gradient that passes through the identity."""
    recipe, x = case.procedure.loss, case.inputs["x"]
    assert recipe is not None
    value = float(evaluate_loss(recipe, case.labels["out"], x).value) + off
    gradients = {"input:x": gradient, "node:out#0": gradient}
    return Outcome(target, Status.COMPLETED, outputs={"out": x}, trace=Trace(loss=value, gradients=gradients))


class TestLosses:
    CASE = identity("CategoricalHinge", np.float32([[0.25, 0.5, 0.5]]), np.float32([[1, 0, 0]]))
    ONE, SPLIT, BOTH = np.float32([[-1, 1, 0]]), np.float32([[-1, 0.5, 0.5]]), np.float32([[-1, 1, 1]])

    def test_a_wrong_loss_is_held_against_its_formula(self) -> None:
        suspicion, _ = judge(self.CASE, {A: stepped(A, self.CASE, self.ONE), B: stepped(B, self.CASE, self.ONE, 0.01)})
        assert suspicion is not None
        assert (suspicion.stage, suspicion.diagnosis.suspects) == (Stage.LOSS, (B,))
        assert suspicion.diagnosis.api == "keras.losses.CategoricalHinge"
        assert "the loss CategoricalHinge, computed from its own outputs" in sentences(suspicion.diagnosis)[0]

    def test_a_tie_is_a_freedom_of_the_loss(self) -> None:
        suspicion, _ = judge(self.CASE, {A: stepped(A, self.CASE, self.ONE), B: stepped(B, self.CASE, self.SPLIT)})
        assert suspicion is not None
        assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.SPECIFICATION, ())
        assert (suspicion.stage, suspicion.diagnosis.api) == (Stage.BACKWARD, "keras.losses.CategoricalHinge")

    def test_more_than_the_whole_gradient_is_not(self) -> None:
        answers = {A: stepped(A, self.CASE, self.ONE), B: stepped(B, self.CASE, self.BOTH)}
        suspicion, _ = judge(self.CASE, answers)
        assert suspicion is not None
        assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.DEFECT, (B,))

    def test_agreement_says_nothing(self) -> None:
        answers = {target: stepped(target, self.CASE, self.ONE) for target in (A, B, C)}
        assert judge(self.CASE, answers) == (None, "")


class TestDistanceFromTheFormula:
    CASE, GRADIENT = TestLosses.CASE, TestLosses.ONE

    def judged(self, *offs: float) -> Suspicion:
        answers = {t: stepped(t, self.CASE, self.GRADIENT, off) for t, off in zip((A, B, C), offs, strict=False)}
        suspicion, _ = judge(self.CASE, answers)
        assert suspicion is not None
        assert suspicion.stage is Stage.LOSS
        return suspicion

    def test_the_same_nan_everywhere_is_the_shared_codes(self) -> None:
        diagnosis = self.judged(np.nan, np.nan).diagnosis
        assert (diagnosis.klass, diagnosis.suspects) == (Class.DEFECT, ("keras",))

    def test_the_same_error_everywhere_too(self) -> None:
        assert self.judged(0.01, 0.01).diagnosis.suspects == ("keras",)

    @pytest.mark.parametrize("offs", [(0.01, -0.01), (np.nan, np.inf), (np.inf, -np.inf)])
    def test_opposite_errors_do_not_agree(self, offs: tuple[float, float]) -> None:
        diagnosis = self.judged(*offs).diagnosis
        assert (diagnosis.klass, diagnosis.suspects) == (Class.PRECISION, ())

    def test_a_nan_beside_a_number_is_no_rounding(self) -> None:
        diagnosis = self.judged(0.01, np.nan).diagnosis
        assert (diagnosis.klass, diagnosis.suspects) == (Class.DEFECT, (B,))


def fitted(target: str, losses: Sequence[float], weights: Mapping[str, float] | None = None) -> Outcome:
    """A training of some steps, with the weights after them by step and name."""
    arrays = {name: np.full(3, value, np.float32) for name, value in (weights or {}).items()}
    return Outcome(target, Status.COMPLETED, trace=Trace(losses=tuple(losses), weights=arrays))


class TestFits:
    def judged(self, steps: int, *outcomes: Outcome) -> tuple[Suspicion | None, str]:
        loss = Recipe("MeanSquaredError")
        build = GraphBuilder()
        graph = build.build(build.add("Dense", build.input("x", (3,)), name="out", units=3))
        case = Case(graph, Procedure(goal=Goal.FIT, loss=loss, steps=steps), inputs={"x": np.ones((2, 3), np.float32)})
        return judge(case, {outcome.target: outcome for outcome in outcomes})

    def test_step_1_is_not_step_10(self) -> None:
        """A loss wrong from step 10 on must not precede the weights that are wrong from step 2 on."""
        right = [1.0] * 12
        late = [*right[:10], 5.0, 5.0]
        suspicion, _ = self.judged(
            12, fitted(A, right, {"2:k": 1}), fitted(B, right, {"2:k": 1}), fitted(C, late, {"2:k": 3})
        )
        assert suspicion is not None
        assert (suspicion.stage, suspicion.diagnosis.suspects) == (Stage.UPDATE, (C,))

    def test_no_majority_is_undecided(self) -> None:
        suspicion, undecided = self.judged(1, fitted(A, [1.0]), fitted(B, [2.0]), fitted(C, [3.0]))
        assert suspicion is None
        assert undecided.startswith("undecided: the targets differ in the loss of step 1")

    def test_agreement_is_decided(self) -> None:
        assert self.judged(1, *(fitted(t, [1.0], {"0:k": 1}) for t in (A, B, C))) == (None, "")

    def test_a_weight_that_only_one_lacks(self) -> None:
        both = {"0:k": 1.0, "0:b": 1.0}
        suspicion, _ = self.judged(1, fitted(A, [1.0], both), fitted(B, [1.0], both), fitted(C, [1.0], {"0:k": 1.0}))
        assert suspicion is not None
        assert (suspicion.stage, suspicion.diagnosis.suspects) == (Stage.UPDATE, (C,))

    def test_a_weight_that_only_one_has(self) -> None:
        one = {"0:k": 1.0}
        suspicion, undecided = self.judged(
            1, fitted(A, [1.0], one), fitted(B, [1.0], one), fitted(C, [1.0], {**one, "0:b": 1.0})
        )
        assert suspicion is None
        assert undecided.startswith("undecided: the targets differ in the weights of step 1")


def test_saving_is_a_stage() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (2,))))
    assert stage_of(Case(graph, Procedure(reload=True))) is Stage.SAVE_LOAD


class TestLeftToTheVote:
    """A layer without a reference: its targets are held against each other, alone as well."""

    def _case(self) -> Case:
        build = GraphBuilder()
        x = build.input("x", (8, 8, 1))
        graph = build.build(build.add("ContrastLimitedAdaptiveHistogramEqualization", x, name="layer"))
        return Case(graph, inputs={"x": np.ones((1, 8, 8, 1), np.float32)})

    def test_one_of_three_is_the_odd_one_out(self) -> None:
        right = np.ones((1, 8, 8, 1), np.float32)
        suspicion, _ = judge(self._case(), {t: done(t, layer=right * (0.5 if t == B else 1.0)) for t in (A, B, C)})
        assert suspicion is not None
        assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.DEFECT, (B,))

    def test_all_alike_are_well(self) -> None:
        right = np.ones((1, 8, 8, 1), np.float32)
        assert judge(self._case(), {t: done(t, layer=right) for t in (A, B, C)}) == (None, "")
