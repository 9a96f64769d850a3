"""A generation is measured row by row: labels, distance, range, NaN."""

from __future__ import annotations

import numpy as np

from tensorparity.core.case import Case, ModelFile
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.verdict import Judgement
from tensorparity.oracles.measure.individuals import (
    NO_DISTANCE,
    other_labels,
    row_distances,
    row_ranges,
    rows_with_nan,
)
from tensorparity.oracles.population import PopulationOracle

A = np.array([[1.0, 3.0], [2.0, 1.0], [np.nan, 1.0], [np.inf, 0.0]])
B = np.array([[2.0, 1.0], [2.0, 1.5], [1.0, 1.0], [np.inf, 0.0]])


def test_the_distance_is_the_mean_absolute_difference_of_a_row() -> None:
    assert row_distances(A, B).tolist() == [1.5, 0.25, np.inf, NO_DISTANCE]


def test_the_range_is_max_minus_min_and_what_is_no_number_ranks_first() -> None:
    assert row_ranges(A).tolist() == [2.0, 1.0, np.inf, np.inf]


def test_labels_are_compared_where_both_have_numbers() -> None:
    assert other_labels(A, B).tolist() == [True, False, False, False]
    one, two = np.array([[0.4], [0.6]]), np.array([[0.6], [0.7]])
    assert other_labels(one, two).tolist() == [True, False], "a single sigmoid has two classes"


def test_nan_is_not_infinity() -> None:
    assert rows_with_nan(A).tolist() == [False, False, True, False]


def test_every_row_has_its_measures_by_target_and_pair() -> None:
    build = GraphBuilder()
    logits = build.add("Dense", build.input("x", (2,)), name="logits", units=2)
    graph = build.build(build.add("Softmax", logits, name="classes"), logits)
    outcomes = {
        target: Outcome(target, Status.COMPLETED, {"classes": values, "logits": values})
        for target, values in (("a", A), ("b", B))
    }
    seen = Seen(Case(graph, inputs={"x": np.ones((4, 2), np.float32)}), (outcomes,))
    found = PopulationOracle(Setup()).judge(seen)
    assert not found.suspicions
    assert found.measures["layer-distance"]["a|b"] == [1.5, 0.25, np.inf, NO_DISTANCE]
    assert found.measures["logits-range"]["b"][0] == 1.0
    assert found.measures["other-label"]["a|b"] == [1.0, 0.0, 0.0, 0.0]
    assert found.measures["nan"] == {"a": [0.0, 0.0, 1.0, 0.0], "b": [0.0] * 4}


def test_who_gives_another_number_of_rows_is_left_out() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (2,)), name="logits", units=2))
    outcomes = {
        "a": Outcome("a", Status.COMPLETED, {"logits": A}),
        "b": Outcome("b", Status.COMPLETED, {"logits": B[:1]}),
        "c": Outcome("c", Status.UNSUPPORTED),
    }
    found = PopulationOracle(Setup()).judge(Seen(Case(graph, inputs={"x": np.ones((4, 2), np.float32)}), (outcomes,)))
    assert set(found.measures["logits-range"]) == {"a"}
    assert found.verdicts[0].judgement is Judgement.UNDECIDED


def judged_file(**values: np.ndarray) -> dict[str, dict[str, list[float]]]:  # type: ignore[type-arg]
    """What is measured of a file whose layers nobody reads, on two targets."""
    outcomes = {name: Outcome(name, Status.COMPLETED, {"out": value}) for name, value in values.items()}
    case = Case(ModelFile("m.onnx", "0" * 64, "onnx"), inputs={"x": np.ones((4, 2), np.float32)})
    return PopulationOracle(Setup()).judge(Seen(case, (outcomes,))).measures  # type: ignore[return-value]


def test_of_a_file_the_outputs_are_looked_at() -> None:
    found = judged_file(a=A, b=B)
    assert found["layer-distance"]["a|b"] == [1.5, 0.25, np.inf, NO_DISTANCE]
    assert found["other-label"]["a|b"] == [1.0, 0.0, 0.0, 0.0]


def test_one_number_that_nothing_squashed_is_no_chance_of_a_class() -> None:
    found = judged_file(a=np.full((4, 1), 0.4), b=np.full((4, 1), 0.6))
    assert found["other-label"]["a|b"] == [0.0, 0.0, 0.0, 0.0]
