"""Every pair of outcomes gets an answer, whatever the two targets did."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.comparison import Comparison
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.oracles.pair import PairSettings, compare_outcomes, judge_cradle, judge_parity

BASE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], np.float32)


RULES = {"parity": judge_parity, "cradle": judge_cradle}


def completed(target: str, **outputs: Array) -> Outcome:
    return Outcome(target, Status.COMPLETED, outputs)


def ended(target: str, status: Status) -> Outcome:
    failure = Failure("SomeError", "it said so\nat length")
    return Outcome(target, status, failure=failure)


def compare_one(a: Array, b: Array, labels: Array | None = None, oracle: str = "parity") -> Comparison:
    named = {} if labels is None else {"out": labels}
    (found,) = compare_outcomes(completed("a", out=a), completed("b", out=b), named, RULES[oracle])
    return found


@pytest.mark.parametrize(("first", "second"), list(itertools.product(Status, Status)))
def test_every_pair_of_endings_has_an_answer_with_a_reason(first: Status, second: Status) -> None:
    sides = [
        completed(name, out=BASE) if status is Status.COMPLETED else ended(name, status)
        for name, status in (("a", first), ("b", second))
    ]
    (found,) = compare_outcomes(*sides, {}, judge_parity)
    assert (found.a, found.b) == ("a", "b")
    assert found.verdict.reason
    assert found.verdict.targets == ("a", "b")
    if first is second is Status.COMPLETED:
        assert found.verdict.judgement is Judgement.PASS
    else:
        assert found.verdict.judgement is not Judgement.PASS


@pytest.mark.parametrize(
    ("status", "judgement", "kind"),
    [
        (Status.RAISED, Judgement.FAIL, Kind.ERROR),
        (Status.CRASHED, Judgement.FAIL, Kind.CRASH),
        (Status.OUT_OF_MEMORY, Judgement.UNDECIDED, None),
        (Status.TIMED_OUT, Judgement.UNDECIDED, Kind.HANG),
        (Status.UNSUPPORTED, Judgement.UNDECIDED, None),
    ],
)
def test_one_side_ending_badly(status: Status, judgement: Judgement, kind: Kind | None) -> None:
    for sides in ((completed("a", out=BASE), ended("b", status)), (ended("b", status), completed("a", out=BASE))):
        (found,) = compare_outcomes(*sides, {}, judge_parity)
        assert (found.verdict.judgement, found.verdict.kind) == (judgement, kind)
        assert found.verdict.reason == f"b {status.value}: it said so"


def test_neither_completed_is_undecided() -> None:
    (found,) = compare_outcomes(ended("a", Status.RAISED), ended("b", Status.CRASHED), {}, judge_parity)
    assert found.verdict.judgement is Judgement.UNDECIDED
    assert found.verdict.reason.startswith("neither completed")


def test_no_outputs_on_either_side_is_undecided() -> None:
    (found,) = compare_outcomes(completed("a"), completed("b"), {}, judge_parity)
    assert found.verdict.judgement is Judgement.UNDECIDED
    assert found.verdict.reason == "neither gave any output"


def test_outputs_are_paired_by_name() -> None:
    a, b = completed("a", one=BASE, two=-BASE), completed("b", two=-BASE, one=BASE)
    found = compare_outcomes(a, b, {}, judge_parity)
    assert [(c.output, c.verdict.judgement) for c in found] == [("one", Judgement.PASS), ("two", Judgement.PASS)]


def test_a_missing_output_is_a_failure_that_says_whose() -> None:
    rich, poor = completed("rich", out=BASE, more=BASE), completed("poor", out=BASE)
    for sides in ((rich, poor), (poor, rich)):
        more, out = compare_outcomes(*sides, {}, judge_parity)
        assert (more.verdict.judgement, more.verdict.kind) == (Judgement.FAIL, Kind.SHAPE)
        assert more.verdict.reason == "poor has no output 'more', rich has"
        assert out.verdict.judgement is Judgement.PASS


@pytest.mark.parametrize("other", [np.zeros((2, 4), np.float32), np.zeros(2, np.float32), np.float32(0)])
def test_another_shape_is_a_failure(other: Array) -> None:
    for a, b in ((BASE, np.asarray(other)), (np.asarray(other), BASE)):
        found = compare_one(a, b)
        assert (found.verdict.judgement, found.verdict.kind) == (Judgement.FAIL, Kind.SHAPE)
        assert str(BASE.shape) in found.verdict.reason


def test_scalars_are_compared() -> None:
    assert compare_one(np.float32(1).reshape(()), np.float32(1).reshape(())).verdict.judgement is Judgement.PASS


class TestParity:
    def test_rounding_passes(self) -> None:
        found = compare_one(BASE, np.nextafter(BASE, np.float32(1)))
        assert found.verdict.judgement is Judgement.PASS
        assert found.verdict.measure is not None
        assert 0 < found.verdict.measure.value <= 16.0 == found.verdict.threshold

    def test_a_difference_is_left_to_the_layers(self) -> None:
        found = compare_one(BASE, BASE + np.float32([[0, 0, 0], [0.25, 0, 0]]))
        assert (found.verdict.judgement, found.verdict.kind) == (Judgement.UNDECIDED, Kind.INCONSISTENCY)
        assert found.worst_input == 1
        assert found.max_abs == pytest.approx(0.25)
        assert found.max_rel == pytest.approx(0.25 / 0.8)

    def test_another_dtype_is_a_failure(self) -> None:
        found = compare_one(BASE, BASE.astype(np.float64))
        assert (found.verdict.judgement, found.verdict.kind) == (Judgement.FAIL, Kind.DTYPE)
        assert found.verdict.reason == "dtypes differ: float32 and float64"

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_non_finite_on_one_side(self, bad: float) -> None:
        other = BASE.copy()
        other[1, 2] = bad
        found = compare_one(BASE, other)
        assert (found.verdict.judgement, found.verdict.kind) == (Judgement.UNDECIDED, Kind.NAN)
        assert found.worst_input == 1
        assert found.max_abs == 0.0  # of what can be subtracted

    def test_nan_in_the_same_places_passes(self) -> None:
        both = BASE.copy()
        both[0, 0] = np.nan
        assert compare_one(both, both.copy()).verdict.judgement is Judgement.PASS


class TestLabels:
    def test_agreement_and_accuracy(self) -> None:
        found = compare_one(BASE, BASE[::-1], np.array([0, 0]))
        assert (found.top1_agreement, found.labels_changed) == (0.0, 2)
        assert found.accuracy == (0.5, 0.5)

    def test_without_labels_there_is_agreement_and_no_accuracy(self) -> None:
        found = compare_one(BASE, BASE)
        assert (found.top1_agreement, found.accuracy, found.distances) == (1.0, None, ())

    def test_a_single_number_without_labels_is_a_regression(self) -> None:
        column = BASE[:, :1]
        assert compare_one(column, column).top1_agreement is None
        assert compare_one(column, column, np.array([1, 0])).top1_agreement == 1.0


class TestCradle:
    def test_without_labels_it_says_what_it_needs(self) -> None:
        found = compare_one(BASE, BASE, oracle="cradle")
        assert found.verdict.judgement is Judgement.UNDECIDED
        assert "labels" in found.verdict.reason

    def test_it_decides_alone_by_the_class_distance(self) -> None:
        found = compare_one(BASE, BASE[::-1], np.array([0, 0]), oracle="cradle")
        assert (found.verdict.judgement, found.verdict.kind) == (Judgement.FAIL, Kind.INCONSISTENCY)
        assert found.verdict.measure is not None
        assert (found.verdict.measure.name, found.verdict.measure.value) == ("class-distance", 8.0)
        assert found.verdict.threshold == 8.0
        assert found.verdict.reason == "2 of 2 inputs reach the class distance 8"

    def test_rounding_passes(self) -> None:
        found = compare_one(BASE, BASE + np.float32(1e-6), np.array([0, 1]), oracle="cradle")
        assert found.verdict.judgement is Judgement.PASS

    def test_a_regression_is_judged_by_mad(self) -> None:
        a, b, truth = (np.array([[value]], np.float32) for value in (0.4, -0.1, 0.0))
        found = compare_one(a, b, truth, oracle="cradle")
        assert found.verdict.judgement is Judgement.FAIL
        assert found.verdict.measure is not None
        assert (found.verdict.measure.name, found.verdict.measure.value) == ("mad-distance", pytest.approx(0.6))

    def test_the_users_thresholds_count(self) -> None:
        sides = completed("a", out=BASE), completed("b", out=BASE[::-1])
        settings = PairSettings({"class": 16.0, "mad": 1.0})
        (found,) = compare_outcomes(*sides, {"out": np.array([0, 0])}, judge_cradle, settings)
        assert found.verdict.judgement is Judgement.PASS


@pytest.mark.parametrize("oracle", ["parity", "cradle"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([[1 + 1j], [2]], np.complex64), np.array([[1 + 2j], [2]], np.complex64)),
        (np.array([[2**60], [1]]), np.array([[2**60 + 1], [1]])),
        (np.array([[True], [False]]), np.array([[False], [False]])),
        (np.array([["a"], ["b"]]), np.array([["c"], ["b"]])),
        (np.array(["a", "b"], object), np.array(["c", "b"], object)),
    ],
    ids=["complex64", "int64", "bool", "str", "object"],
)
def test_outputs_that_are_no_real_numbers(a: Array, b: Array, oracle: str) -> None:
    found = compare_one(a, b, np.array([0, 1]), oracle)
    assert found.max_abs == 1.0
    assert found.worst_input == 0
    if oracle == "parity":
        assert (found.verdict.judgement, found.verdict.kind) == (Judgement.UNDECIDED, Kind.INCONSISTENCY)
        assert compare_one(a, a, np.array([0, 1])).verdict.judgement is Judgement.PASS
