"""CRADLE as an engine: the zoo in a campaign, one model of the user's in ``compare``."""

from __future__ import annotations

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask, Result
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Status
from tensorparity.engines.cradle import CradleEngine, OneModel, ask_for_training
from tensorparity.zoo.entries import ARCHITECTURES, ZOO


class TestCradle:
    def test_it_goes_through_the_zoo_whatever_was_found(self) -> None:
        engine = CradleEngine(Setup())
        cases = [ask.case for _ in ARCHITECTURES for ask in engine.ask()]
        assert [case.subject.name for case in cases if isinstance(case.subject, LayerGraph)] == [
            ARCHITECTURES[name]().name for name in ARCHITECTURES
        ]

    def test_inconsistencies_are_counted_by_pair_and_by_pattern(self) -> None:
        engine = CradleEngine(Setup())
        engine.tell([told(inconsistent=[inconsistent(1, 0), inconsistent(1, 0, b="c")])])
        engine.tell([told(inconsistent=[inconsistent(1, 0)])])
        assert engine.tables()["inconsistencies"] == [
            {"pair": "a / b", "unique": 1, "total": 2},
            {"pair": "a / c", "unique": 1, "total": 1},
        ]

    def test_regressions_have_labels_and_classifiers_are_taken_at_their_word(self) -> None:
        engine = CradleEngine(Setup(settings={"instances": 3}))
        cases = {name: engine.ask()[0].case for name in ARCHITECTURES}
        shapes = {name: [array.shape for array in case.labels.values()] for name, case in cases.items()}
        assert shapes == {name: [] if ZOO[name].classifies else [(3, 1)] for name in ARCHITECTURES}


def case() -> Case:
    build = GraphBuilder("line")
    graph = build.build(build.add("Dense", build.input("x", (2,)), name="dense", units=1))
    return Case(graph, inputs={"x": np.ones((2, 2), np.float32)}, labels={"": np.ones((2, 1), np.float32)})


def inconsistent(*pattern: int, b: str = "b", metric: str = "class") -> Json:
    return {"metric": metric, "pattern": list(pattern), "pair": f"a / {b} / y", "targets": ["a", b], "model": "m"}


def told(status: Status = Status.COMPLETED, **facts: Json) -> Result:
    return Result(0, "", endings={"a": status}, facts=facts)


class TestOneModel:
    def test_one_round_is_all(self) -> None:
        engine = OneModel(Ask(case()))
        assert [ask.case.digest for ask in engine.ask()] == [case().digest]
        engine.tell([told(outputs=["dense"])])
        assert list(engine.ask()) == []

    def test_then_it_is_trained_with_labels_by_the_outputs_name(self) -> None:
        engine = OneModel(Ask(case()), ask_for_training(case(), ("a",)))
        engine.ask()
        engine.tell([told(outputs=["dense"])])
        (training,) = engine.ask()
        assert (training.targets, training.oracles, set(training.case.labels)) == (
            ("a",),
            ("training_drift",),
            {"dense"},
        )
        engine.tell([told()])
        assert list(engine.ask()) == []

    def test_what_nobody_completes_is_not_trained(self) -> None:
        engine = OneModel(Ask(case()), ask_for_training(case(), ("a",)))
        engine.ask()
        engine.tell([told(Status.CRASHED)])
        assert list(engine.ask()) == []

    def test_equal_patterns_of_one_pair_are_one_unique_inconsistency(self) -> None:
        engine = OneModel(Ask(case()))
        engine.ask()
        items = [inconsistent(1, 0), inconsistent(1, 0), inconsistent(2, 0), inconsistent(1, 0, metric="mad")]
        engine.tell([told(outputs=["y"], inconsistent=items)])
        seen = {"model": "m", "output": "y", "versions": {}}
        assert engine.tables()["unique_inconsistencies"] == [
            {"pair": "a / b", "metric": "class", "pattern": [1, 0], "seen": [seen, seen]},
            {"pair": "a / b", "metric": "class", "pattern": [2, 0], "seen": [seen]},
            {"pair": "a / b", "metric": "mad", "pattern": [1, 0], "seen": [seen]},
        ]
