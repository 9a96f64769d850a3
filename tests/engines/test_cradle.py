"""CRADLE as an engine: the zoo in a campaign, one model of the user's in ``compare``."""

from __future__ import annotations

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask, Result
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Status
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.cradle import CradleEngine, OneModel, ask_for_training
from tensorparity.zoo.entries import ARCHITECTURES

FAIL = Verdict(Judgement.FAIL, ("a", "b"), "said so")


class TestCradle:
    def test_it_goes_through_the_zoo_whatever_was_found(self) -> None:
        engine = CradleEngine(Setup())
        cases = [ask.case for _ in ARCHITECTURES for ask in engine.ask()]
        assert [case.subject.name for case in cases if isinstance(case.subject, LayerGraph)] == [
            ARCHITECTURES[name]().name for name in ARCHITECTURES
        ]

    def test_inconsistent_pairs_are_counted(self) -> None:
        engine = CradleEngine(Setup())
        engine.tell([Result(index, "", (FAIL,)) for index in range(3)])
        assert engine.tables() == {"inconsistencies": {"a|b": 3}}


def case() -> Case:
    build = GraphBuilder("line")
    graph = build.build(build.add("Dense", build.input("x", (2,)), name="dense", units=1))
    return Case(graph, inputs={"x": np.ones((2, 2), np.float32)}, labels={"": np.ones((2, 1), np.float32)})


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

    def test_equal_patterns_are_one_unique_inconsistency(self) -> None:
        engine = OneModel(Ask(case()))
        engine.ask()
        alike = [{"metric": "class", "pattern": [1, 0], "pair": pair} for pair in ("a / b / y", "a / c / y")]
        other = {"metric": "mad", "pattern": [1, 0], "pair": "b / c / y"}
        engine.tell([told(outputs=["y"], inconsistent=[*alike, other])])
        assert engine.tables()["unique_inconsistencies"] == [
            {"metric": "class", "pattern": [1, 0], "pairs": ["a / b / y", "a / c / y"]},
            {"metric": "mad", "pattern": [1, 0], "pairs": ["b / c / y"]},
        ]
