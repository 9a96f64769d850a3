"""What every engine promises: rounds that depend on the seed alone, and on what it is told."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask, Engine, Result
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.jsontext import Json
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Status
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.base import ENGINES
from tensorparity.engines.cradle import CradleEngine, OneModel, ask_for_training
from tensorparity.targets.catalogue import traits_of
from tensorparity.zoo.entries import ARCHITECTURES

PASS, FAIL = (Verdict(judgement, ("a", "b"), "said so") for judgement in (Judgement.PASS, Judgement.FAIL))
TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")


def made(name: str, seed: int) -> Engine:
    return ENGINES.get(name)(Setup(seed, TARGETS, traits_of(TARGETS)))


def digests(engine: Engine, rounds: int = 2, verdict: Verdict = PASS) -> list[str]:
    found: list[str] = []
    for _ in range(rounds):
        asks = engine.ask()
        results = [Result(len(found) + place, ask.case.digest, (verdict,)) for place, ask in enumerate(asks)]
        found += [ask.case.digest for ask in asks]
        engine.tell(results)
    return found


@pytest.mark.parametrize("name", [name for name in ENGINES.names() if name != "predoo"])
class TestEveryEngine:
    def test_it_asks_for_something(self, name: str) -> None:
        engine = made(name, 0)
        assert engine.name == name
        assert len(engine.ask()) > 0 <= engine.ahead

    def test_the_seed_decides(self, name: str) -> None:
        assert digests(made(name, 1)) == digests(made(name, 1))
        assert not set(digests(made(name, 1), rounds=1)) & set(digests(made(name, 2), rounds=1))

    def test_no_case_comes_twice(self, name: str) -> None:
        found = digests(made(name, 0))
        assert len(set(found)) == len(found)


class TestCradle:
    def test_it_goes_through_the_zoo_whatever_was_found(self) -> None:
        engine = CradleEngine(Setup())
        cases = [ask.case for _ in ARCHITECTURES for ask in engine.ask()]
        assert [case.subject.name for case in cases if isinstance(case.subject, LayerGraph)] == [
            ARCHITECTURES[name]().name for name in ARCHITECTURES
        ]
        assert digests(made("cradle", 0), verdict=PASS) == digests(made("cradle", 0), verdict=FAIL)

    def test_inconsistent_pairs_are_counted(self) -> None:
        engine = made("cradle", 0)
        digests(engine, rounds=3, verdict=FAIL)
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
