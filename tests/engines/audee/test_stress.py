"""Stress: the worst input within the range of the data, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.engine_search import result_of
from tensorparity.core.case import ModelFile
from tensorparity.core.engine import Ask, Result
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Setup
from tensorparity.engines.audee.stress import StressEngine, StressSettings, _Run
from tensorparity.generators.search.bounds import data_range
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.measure.individuals import row_margins
from tensorparity.reporting.words import under_stress
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner

TARGETS = ("fake:a", "fake:b")


def stressed(runner: Any, generations: int = 4) -> tuple[Json, list[Any]]:
    build = GraphBuilder("small")
    x = build.add("Dense", build.input("x", (4,)), name="hidden", units=3, activation="tanh")
    graph = build.build(build.add("Softmax", build.add("Dense", x, name="logits", units=2), name="classes"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.uniform(0.0, 1.0, (6, 4)).astype(np.float32)}
    weights = draw_weights(graph, rng)
    engine = StressEngine(graph, weights, inputs, TARGETS, StressSettings(generations), traits_of(TARGETS))
    examiner = Examiner(runner, Setup(0, TARGETS, traits_of(TARGETS)))
    cases = []
    while asks := engine.ask():
        found = examiner.examine(asks)
        cases += [item.case for item in found]
        engine.tell([result_of(place, item) for place, item in enumerate(found)])
    (pair,) = engine.tables()["stress"]
    return pair, cases


def test_no_input_leaves_the_range_of_the_data(fake_runner: Any) -> None:
    _, cases = stressed(fake_runner(targets=TARGETS))
    assert all(0.0 <= case.inputs["x"].min() <= case.inputs["x"].max() <= 1.0 for case in cases)


def test_weights_stay_as_they_are_without_a_tolerance(fake_runner: Any) -> None:
    _, cases = stressed(fake_runner(targets=TARGETS))
    assert all(case.procedure.population is None for case in cases)


def test_it_says_how_far_through_which_layer_and_after_how_many(fake_runner: Any) -> None:
    runner = fake_runner(targets=TARGETS, planted={"fake:b": {"hidden": lambda y: y * np.float32(1.5)}})
    pair, _ = stressed(runner)
    assert pair["distance"] > 0.1
    assert pair["layer"] == "hidden#0"
    assert pair["evaluations"] == 2 * (64 + 3 * 56)
    said = under_stress(pair)
    assert "larger differences may exist" in said
    assert "hidden#0" in said
    assert "464 inputs" in said


def test_a_change_of_label_is_counted(fake_runner: Any) -> None:
    pair, _ = stressed(fake_runner(targets=TARGETS, planted={"fake:b": {"logits": lambda y: -y}}), generations=1)
    assert pair["labels_changed"] == pair["evaluations"] == 128
    assert "the label changed for 128 of them" in under_stress(pair)


def test_the_range_is_that_of_each_input_and_of_each_column_of_a_table() -> None:
    assert data_range({"x": np.array([[1.0, -2.0]]), "y": np.array([5.0])}) == {"x": (-2.0, 1.0), "y": (5.0, 5.0)}
    low, high = data_range({"x": np.array([[18.0, 1e6], [90.0, 2e4]])})["x"]
    assert (list(low), list(high)) == ([18.0, 2e4], [90.0, 1e6])  # type: ignore[arg-type]


def searches(engine: StressEngine) -> Sequence[Ask]:
    """The first generation, after a survey that told nothing."""
    engine.ask()
    engine.tell([Result(0, "")])
    return engine.ask()


def table() -> tuple[Any, Any, dict[str, Any]]:
    """A model of people's age and income, and data of them."""
    build = GraphBuilder("people")
    graph = build.build(build.add("Dense", build.input("x", (2,)), name="logits", units=2))
    rng = np.random.default_rng(0)
    people = np.stack([rng.uniform(18.0, 90.0, 40), rng.uniform(2e4, 1e6, 40)], axis=1).astype(np.float32)
    return graph, draw_weights(graph, rng), {"x": people}


def test_no_column_of_a_table_leaves_its_own_range() -> None:
    graph, weights, inputs = table()
    engine = StressEngine(graph, weights, inputs, TARGETS, StressSettings(1), traits_of(TARGETS))
    ages = np.concatenate([item.case.inputs["x"][:, 0] for item in searches(engine)])
    assert inputs["x"][:, 0].min() <= ages.min() <= ages.max() <= inputs["x"][:, 0].max()
    assert len(np.unique(ages)) > len(ages) / 2, "noise is as wide as the column, not as the widest one"


def test_searches_begin_where_a_label_is_about_to_change() -> None:
    graph, weights, inputs = table()
    engine = StressEngine(graph, weights, inputs, TARGETS, StressSettings(1), traits_of(TARGETS))
    (survey,) = engine.ask()
    rows = survey.case.inputs["x"]
    margins = [0.1 if place == 7 else 0.2 if place == 3 else 5.0 for place in range(len(rows))]
    engine.tell([Result(0, "", measures={"margins": {"fake:a": [9.0] * len(rows), "fake:b": margins}})])
    engine.ask()
    first = [run.search._inputs["x"][0] for runs in engine._runs.values() for run in runs]
    assert [list(row) for row in first] == [list(rows[7]), list(rows[3])]


def test_one_search_asks_whether_a_label_changes() -> None:
    """The second is near to another label, the first is far apart."""
    graph, weights, inputs = table()
    engine = StressEngine(graph, weights, inputs, TARGETS, StressSettings(1), traits_of(TARGETS))
    asks = searches(engine)
    count = len(asks[0].case.inputs["x"])
    measures = {
        "layer-distance": {"fake:a|fake:b": [4.0, 1.0] + [0.0] * (count - 2)},
        "margins": {target: [8.0, 0.5] + [1.0] * (count - 2) for target in TARGETS},
    }
    engine.tell([Result(0, "", measures=measures)] * 2)
    assert [run.search.best for run in engine._runs[TARGETS]] == [pytest.approx(2.0), 4.0]
    assert [ask.oracles for ask in asks] == [("population", "margins"), ("population",)]


def test_a_margin_is_how_far_a_label_is_ahead() -> None:
    logits = np.array([[1.0, 4.0, 3.5], [2.0, 2.0, 0.0], [np.nan, 1.0, 0.0]])
    assert row_margins(logits, logits).tolist() == [0.5, 0.0, np.inf]  # type: ignore[union-attr]
    chance, number = np.array([[0.6]]), np.array([[0.4]])
    assert row_margins(chance, number).tolist() == [pytest.approx(0.2)]  # type: ignore[union-attr]
    assert row_margins(number, number) is None, "a regression has no labels"


@pytest.mark.parametrize("changed", [0, 3])
def test_it_never_says_that_there_is_none(changed: int) -> None:
    pair = {
        "a": "a",
        "b": "b",
        "distance": 0.0,
        "labels_changed": changed,
        "evaluations": 9,
        "layer": "",
        "watched": "",
        "level": "input",
    }
    assert "lower bound" in under_stress(pair)


def test_what_embeddings_give_is_moved_and_said_so() -> None:
    build = GraphBuilder("text")
    y = build.add("Embedding", build.input("words", (3,), "int32"), name="words_in", input_dim=9, output_dim=2)
    graph = build.build(build.add("Softmax", build.add("Dense", build.add("Flatten", y), units=2), name="classes"))
    inputs = {"words": np.array([[1, 2, 3], [4, 5, 6]], np.int32)}
    weights = draw_weights(graph, np.random.default_rng(0))
    engine = StressEngine(graph, weights, inputs, TARGETS, StressSettings(1), traits_of(TARGETS))
    assert engine.embedded
    table = weights["words_in/embeddings"][1:7]
    for item in searches(engine):
        assert table.min() <= item.case.inputs["words_in"].min()
        assert item.case.inputs["words_in"].max() <= table.max()


def test_weights_stay_where_a_target_would_compile_another_model() -> None:
    build = GraphBuilder("small")
    graph = build.build(build.add("Dense", build.input("x", (4,)), name="logits", units=2))
    weights = draw_weights(graph, np.random.default_rng(0))
    targets = ("keras:torch", "keras:jax", "onnxruntime")
    inputs = {"x": np.ones((2, 4), np.float32)}
    engine = StressEngine(graph, weights, inputs, targets, StressSettings(1, 0.5), traits_of(targets))
    moved = {item.targets: item.case.procedure.population is not None for item in searches(engine)}
    assert moved == {
        ("keras:torch", "keras:jax"): True,
        ("keras:torch", "onnxruntime"): False,
        ("keras:jax", "onnxruntime"): False,
    }


def test_a_file_is_searched_by_its_outputs_in_the_only_batch_that_it_takes() -> None:
    file = ModelFile("m.onnx", "0" * 64, "onnx")
    inputs = {"x": np.zeros((3, 4), np.float32), "words": np.ones((3, 2), np.int32)}
    engine = StressEngine(file, {}, inputs, TARGETS, StressSettings(1, 0.5), traits_of(TARGETS), 0, 1)
    for item in searches(engine):
        assert (item.case.subject, item.case.procedure.batch_size) == (file, 1)
        assert (item.case.inputs["words"] == 1).all()
        assert len(item.case.inputs["x"]) == 64


def test_an_input_with_another_label_is_worse_than_one_that_is_further_apart() -> None:
    run = _Run(("a", "b"), Chosen())  # type: ignore[arg-type]
    measures = {"layer-distance": {"a|b": [5.0, 1.0, 2.0]}, "other-label": {"a|b": [0.0, 1.0, 0.0]}}
    run.tell(Result(0, "", measures=measures))
    assert (run.case, run.worst, run.changed) == (1, 5.0, 1)


class Chosen:
    """A search whose individuals are their places."""

    def individual(self, place: int) -> int:
        return place

    def tell(self, fitness: Any) -> None:
        """Nobody learns from it."""
