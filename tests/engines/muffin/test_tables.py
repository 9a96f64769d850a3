"""What a fuzzing run counts, on handmade steps: by the paper's definitions, and each thing in one column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.runner import Runner
from tensorparity.core.verdict import Judgement, Stage
from tensorparity.engines.muffin.tables import NetworkTally
from tensorparity.oracles.muffin import Inconsistency
from tensorparity.oracles.step_facts import StepFacts
from tensorparity.targets.replies import unsupported_outcome

from ...stepping import ExaminedSteps, Step

TARGETS = ("one", "two", "three")


def case(dtype: str | None = None) -> Case:
    builder = GraphBuilder("two layers")
    y = builder.add("ReLU", builder.input("x", (2,)), name="y")
    graph = builder.build(builder.add("Softmax", y, name="z"))
    return Case(graph, Procedure(trace=True, dtype=dtype), {"x": np.zeros((1, 2))})


def completed(target: str, y: float = 0.0, z: float = 0.0) -> Outcome:
    nodes = {"y#0": np.full((1, 2), y), "z#0": np.full((1, 2), z)}
    return Outcome(target, Status.COMPLETED, {"z": nodes["z#0"]}, Trace(nodes))


def failed(target: str, status: Status, message: str = "no", stage: str = "") -> Outcome:
    return Outcome(target, status, failure=Failure("ValueError", message, stage=stage))


class Answering:
    """A runner with these answers to the network; alone, every layer completes as target one did."""

    targets = TARGETS

    def __init__(self, answers: Mapping[str, Outcome]) -> None:
        self._answers = answers

    def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None):
        return [self._answers[target] for _, target in pairs]


def tallied(*answers: Outcome, dtype: str | None = None) -> tuple[NetworkTally, Step]:
    runner: Runner = Answering({outcome.target: outcome for outcome in answers})
    targets = [outcome.target for outcome in answers]
    (step,) = ExaminedSteps(runner, targets, {}, oracle="muffin", stages=(Stage.FORWARD,)).examine([case(dtype)])
    tally = NetworkTally(targets)
    tally.add(step.facts, step.verdicts, "palette", 2, 2)
    return tally, step


class TestWhatWasLeftOpen:
    def test_a_documented_lack_is_no_open_question(self) -> None:
        tally, _ = tallied(completed("one"), completed("two"), failed("three", Status.UNSUPPORTED, "not here"))
        assert (tally.undecided, tally.unsupported, dict(tally.reasons)) == (0, 1, {})

    def test_a_lack_in_the_librarys_words_is_none_either(self) -> None:
        tally, _ = tallied(completed("one"), completed("two"), failed("three", Status.RAISED, "not supported yet"))
        assert (tally.undecided, tally.unsupported) == (0, 1)

    def test_no_memory_is_one_and_its_reason_counts_once(self) -> None:
        tally, _ = tallied(completed("one"), completed("two"), failed("three", Status.OUT_OF_MEMORY))
        assert (tally.undecided, tally.unsupported) == (1, 0)
        assert list(tally.reasons.values()) == [1], "two pairs give it"


class TestUnbuildable:
    def test_a_target_that_was_not_even_asked_has_built_nothing(self) -> None:
        tally, _ = tallied(
            failed("one", Status.RAISED, stage="build"), unsupported_outcome("two", "no such layer here")
        )
        assert tally.stats()["unbuildable"] == 1

    @pytest.mark.parametrize(
        "other", [completed("two"), failed("two", Status.RAISED), failed("two", Status.UNSUPPORTED)]
    )
    def test_somebody_built_it(self, other: Outcome) -> None:
        tally, _ = tallied(unsupported_outcome("one", "no such layer here"), other)
        assert tally.stats()["unbuildable"] == 0


class TestInconsistencies:
    def count(self, tally: NetworkTally) -> int:
        rows = [row for row in tally.tables()["inconsistencies"] if row["data"] == "total"]
        return sum(row[stage] for row in rows for stage in ("forward", "loss", "backward"))

    @pytest.mark.parametrize(("y", "z"), [(0.5, 0.5), (0.0, 0.2), (0.1, 0.1), (np.inf, 0.5), (np.nan, np.nan)])
    def test_figure_5_is_table_4_at_the_papers_threshold(self, y: float, z: float) -> None:
        tally, _ = tallied(completed("one"), completed("two", y, z), completed("three"))
        assert tally.tables()["thresholds"]["0.15"] == self.count(tally)

    def test_below_the_threshold_figure_5_alone_counts(self) -> None:
        tally, step = tallied(completed("one"), completed("two", 0.02), completed("three"))
        counts = {float(t): count for t, count in tally.tables()["thresholds"].items()}
        assert counts == {t: 2 if t < 0.02 else 0 for t in counts}
        assert step.inconsistent == []

    def test_a_number_is_inconsistent_and_nan_is_in_its_own_column(self) -> None:
        number, _ = tallied(completed("one"), completed("two", 0.5), completed("three"))
        nan, step = tallied(completed("one"), completed("two", np.nan), completed("three"))
        assert step.inconsistent, "the rule does find it"
        for tally, voted, nans in ((number, ["ReLU"], 0), (nan, [], 1)):
            tables = tally.tables()
            assert tables["voted"][1]["forward"] == voted
            assert [row["nan"] for row in tables["endings"] if row["target"] == "two"][-1] == nans
        assert (self.count(number), self.count(nan)) == (2, 0)


@pytest.mark.parametrize(
    ("dtype", "counted", "judgement"),
    [("float64", 2, Judgement.FAIL), ("bfloat16", 0, Judgement.UNDECIDED), ("mixed_float16", 0, Judgement.UNDECIDED)],
)
def test_an_absolute_threshold_is_not_for_half_precision(dtype: str, counted: int, judgement: Judgement) -> None:
    tally, step = tallied(completed("one"), completed("two", 0.25), completed("three"), dtype=dtype)
    assert tally.tables()["thresholds"]["0.15"] == counted
    assert [verdict.judgement for verdict in step.verdicts if "two" in verdict.targets] == [judgement] * 2


def test_nan_needs_no_threshold() -> None:
    _, step = tallied(completed("one"), completed("two", np.nan), completed("three"), dtype="bfloat16")
    assert [verdict.judgement for verdict in step.verdicts if "two" in verdict.targets] == [Judgement.FAIL] * 2


def test_nan_of_a_loss_is_in_the_column_of_nan_and_not_a_distance() -> None:
    builder = GraphBuilder()
    graph = builder.build(builder.add("ReLU", builder.input("x", (2,)), name="y"))
    subject = Case(graph, Procedure(Goal.GRADIENTS, loss=Recipe("MeanSquaredError")), {"x": np.zeros((1, 2))})

    def answer(target: str, loss: float) -> Outcome:
        nodes = {"y#0": np.zeros((1, 2))}
        return Outcome(target, Status.COMPLETED, {"y": nodes["y#0"]}, Trace(nodes, loss, {"node:y#0": nodes["y#0"]}))

    answers = {target: answer(target, np.nan if target == "two" else 1.0) for target in TARGETS}
    examiner = ExaminedSteps(Answering(answers), TARGETS, {}, oracle="muffin")
    tally = NetworkTally(TARGETS)
    (step,) = examiner.examine([subject])
    tally.add(step.facts, step.verdicts, "palette", 1, 1)
    tables = tally.tables()
    assert {row["target"]: row["nan"] for row in tables["endings"] if row["data"] == "total"} == {
        "one": 0,
        "two": 1,
        "three": 0,
    }
    assert not any(row["loss"] for row in tables["inconsistencies"])


def test_a_layer_counts_in_the_row_of_its_data_set_and_once_in_the_total() -> None:
    tally = NetworkTally(("one", "two"))
    item = Inconsistency(Stage.FORWARD, "Dense", "d#0", "one", "two", 1.0)
    for data, found in (("mnist", (item,)), ("mnist", (item,)), ("cifar10", ())):
        tally.add(StepFacts(inconsistent=found), (), data, 1, 1)
    rows = {row["data"]: row["forward"] for row in tally.tables()["inconsistencies"]}
    assert rows == {"cifar10": 0, "mnist": 1, "total": 1}
