"""Two sides that must agree, each target for itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case, Counterpart
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Judgement, Kind, Stage
from tensorparity.oracles.kinds import make_oracle, oracle_of
from tensorparity.reporting.words import sentences
from tensorparity.targets.selection import traits_of

A, B = "keras:tensorflow", "keras:torch"
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
RIGHT = (np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)).astype(np.float32)
KNOWN = Case(
    ApiCall("keras.ops.softmax", (ArrayArg("x"),)),
    Procedure(goal=Goal.CALL),
    inputs={"x": X},
    counterpart=Counterpart(ApiCall("keras.ops.mystery", (ArrayArg("x"),)), rule="softmax-by-hand"),
)
UNKNOWN = Case(ApiCall("keras.ops.riddle", (ArrayArg("x"),)), KNOWN.procedure, {"x": X}, counterpart=KNOWN.counterpart)


def gave(array: Array | None, target: str = A) -> Outcome:
    if array is None:
        return Outcome(target, Status.RAISED, failure=Failure("ValueError", "no"))
    return Outcome(target, Status.COMPLETED, {"0": array})


def judged(case: Case, first: Mapping[str, Outcome], second: Mapping[str, Outcome]) -> Judged:
    assert oracle_of(case) == "equivalence"
    sides = case.sides()
    ran = tuple(dict.fromkeys(first, side) for side in sides)
    seen = Seen(case, (first, second), ran, traits_of(list(first)))
    return make_oracle("equivalence", Setup(targets=tuple(first), traits=seen.traits)).judge(seen)


def one(case: Case, first: Array | None, second: Array | None) -> Judged:
    return judged(case, {A: gave(first)}, {A: gave(second)})


@pytest.mark.parametrize("case", [KNOWN, UNKNOWN], ids=["reference", "roundoff"])
class TestOutputs:
    def test_sides_that_agree(self, case: Case) -> None:
        found = one(case, RIGHT, np.nextafter(RIGHT, np.float32(2)))
        assert [verdict.judgement for verdict in found.verdicts] == [Judgement.PASS]
        assert not found.suspicions

    @pytest.mark.parametrize(
        "other",
        [RIGHT + np.float32(0.01), RIGHT[:2], RIGHT.astype(np.float64), np.where(X > 2, np.float32(np.nan), RIGHT)],
        ids=["numbers", "shape", "dtype", "nan"],
    )
    def test_a_difference_is_the_targets(self, case: Case, other: Array) -> None:
        found = one(case, RIGHT, other)
        assert [verdict.judgement for verdict in found.verdicts] == [Judgement.FAIL]
        (suspicion,) = found.suspicions
        diagnosis = suspicion.diagnosis
        assert (suspicion.kind, suspicion.stage) == (Kind.EQUIVALENCE, Stage.CALL)
        assert (diagnosis.klass, diagnosis.suspects) == (Class.DEFECT, (A,))
        assert diagnosis.api == case.subject.api  # type: ignore[union-attr]
        assert "the rule 'softmax-by-hand'" in sentences(diagnosis)[0]


def test_what_was_measured_against() -> None:
    assert one(KNOWN, RIGHT, RIGHT * 2).verdicts[0].judged_by == "reference"
    assert one(UNKNOWN, RIGHT, RIGHT * 2).verdicts[0].judged_by == "nothing"


def test_two_sides_that_are_wrong_alike_agree() -> None:
    assert one(KNOWN, RIGHT * 2, RIGHT * 2).verdicts[0].judgement is Judgement.PASS


def test_two_sides_that_are_wrong_in_two_ways_blame_nobody() -> None:
    found = one(KNOWN, RIGHT * 2, RIGHT * 50)
    assert found.verdicts[0].judgement is Judgement.UNDECIDED
    assert not found.suspicions


class TestEndings:
    @pytest.mark.parametrize(("first", "second"), [(RIGHT, None), (None, RIGHT)])
    def test_accepted_on_one_side_only(self, first: Array | None, second: Array | None) -> None:
        (suspicion,) = one(UNKNOWN, first, second).suspicions
        assert (suspicion.kind, suspicion.exception) == (Kind.EQUIVALENCE, "ValueError")
        assert suspicion.diagnosis.suspects == (A,)

    def test_refused_on_both(self) -> None:
        found = one(UNKNOWN, None, None)
        assert found.verdicts[0].judgement is Judgement.UNDECIDED
        assert found.undecided
        assert not found.suspicions

    def test_a_death_stays_one(self) -> None:
        died = Outcome(A, Status.CRASHED, failure=Failure("SIGSEGV", "died"))
        (suspicion,) = judged(UNKNOWN, {A: gave(RIGHT)}, {A: died}).suspicions
        assert suspicion.kind is Kind.CRASH

    def test_a_lack_is_no_defect(self) -> None:
        lacks = Outcome(A, Status.RAISED, failure=Failure("NotImplementedError", "riddle is not supported"))
        found = judged(UNKNOWN, {A: gave(RIGHT)}, {A: lacks})
        assert found.suspicions[0].diagnosis.klass is Class.UNSUPPORTED
        assert found.verdicts[0].judgement is Judgement.PASS


def test_every_target_is_judged_alone() -> None:
    found = judged(UNKNOWN, {A: gave(RIGHT), B: gave(RIGHT, B)}, {A: gave(RIGHT), B: gave(RIGHT * 2, B)})
    assert [verdict.judgement for verdict in found.verdicts] == [Judgement.PASS, Judgement.FAIL]
    assert [suspicion.diagnosis.suspects for suspicion in found.suspicions] == [(B,)]


class TestGradients:
    def _case(self, op: str, x: Array) -> Case:
        build = GraphBuilder()
        graph = build.build(build.add(op, build.input("x", (2,)), name="y"))
        procedure = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))
        return Case(graph, procedure, {"x": x}, {"y": np.ones_like(x)}, counterpart=Counterpart(rule="again"))

    def _judged(self, x: Array, first: Array, second: Array) -> Judged:
        def stepped(gradient: Array) -> Outcome:
            outputs = {"y": np.maximum(x, 0)}
            return Outcome(A, Status.COMPLETED, outputs, Trace(gradients={"input:x": gradient}))

        return judged(self._case("ReLU", x), {A: stepped(first)}, {A: stepped(second)})

    def test_gradients_must_agree(self) -> None:
        x = np.array([[1.5, -2.0]], np.float32)
        right = np.array([[0.5, 0.0]], np.float32)
        assert self._judged(x, right, right).verdicts[0].judgement is Judgement.PASS
        (suspicion,) = self._judged(x, right, right * 2).suspicions
        assert (suspicion.kind, suspicion.stage) == (Kind.EQUIVALENCE, Stage.BACKWARD)

    def test_at_a_kink_both_are_right(self) -> None:
        x = np.array([[0.0, 2.0]], np.float32)
        found = self._judged(x, np.array([[0.0, 1.0]], np.float32), np.array([[-1.0, 1.0]], np.float32))
        assert not found.suspicions
        assert found.verdicts[0].judgement is Judgement.PASS
