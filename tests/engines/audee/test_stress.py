"""Stress: the worst input within the range of the data, and what is said of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.engine_search import result_of
from tensorparity.core.case import ModelFile
from tensorparity.core.engine import Result
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Setup
from tensorparity.engines.audee.stress import StressEngine, StressSettings, _Run
from tensorparity.generators.search.bounds import data_range
from tensorparity.operators.reference.evaluate import draw_weights
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
    assert "a lower bound, not the worst there is" in said
    assert "hidden#0" in said
    assert "464 inputs" in said


def test_a_change_of_label_is_counted(fake_runner: Any) -> None:
    pair, _ = stressed(fake_runner(targets=TARGETS, planted={"fake:b": {"logits": lambda y: -y}}), generations=1)
    assert pair["labels_changed"] == pair["evaluations"] == 128
    assert "the label changed for 128 of them" in under_stress(pair)


def test_the_range_is_that_of_each_input() -> None:
    assert data_range({"x": np.array([[1.0, -2.0]]), "y": np.array([[5.0]])}) == {"x": (-2.0, 1.0), "y": (5.0, 5.0)}


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
    for item in engine.ask():
        assert table.min() <= item.case.inputs["words_in"].min()
        assert item.case.inputs["words_in"].max() <= table.max()


def test_weights_stay_where_a_target_would_compile_another_model() -> None:
    build = GraphBuilder("small")
    graph = build.build(build.add("Dense", build.input("x", (4,)), name="logits", units=2))
    weights = draw_weights(graph, np.random.default_rng(0))
    targets = ("keras:torch", "keras:jax", "onnxruntime")
    inputs = {"x": np.ones((2, 4), np.float32)}
    engine = StressEngine(graph, weights, inputs, targets, StressSettings(1, 0.5), traits_of(targets))
    moved = {item.targets: item.case.procedure.population is not None for item in engine.ask()}
    assert moved == {
        ("keras:torch", "keras:jax"): True,
        ("keras:torch", "onnxruntime"): False,
        ("keras:jax", "onnxruntime"): False,
    }


def test_a_file_is_searched_by_its_outputs_in_the_only_batch_that_it_takes() -> None:
    file = ModelFile("m.onnx", "0" * 64, "onnx")
    inputs = {"x": np.zeros((3, 4), np.float32), "words": np.ones((3, 2), np.int32)}
    engine = StressEngine(file, {}, inputs, TARGETS, StressSettings(1, 0.5), traits_of(TARGETS), 0, 1)
    for item in engine.ask():
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
