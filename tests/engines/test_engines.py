"""What every engine promises: rounds that depend on the seed and on what was told, and on nothing else."""

from __future__ import annotations

import pytest

from tensorparity.core.engine import Engine, Result
from tensorparity.core.graph import LayerGraph
from tensorparity.core.oracle import Setup
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.base import ENGINES
from tensorparity.targets.catalogue import traits_of
from tensorparity.zoo.entries import ARCHITECTURES

TARGETS = ("keras:tensorflow", "keras:torch")
PASS, FAIL = (Verdict(judgement, TARGETS, "said so") for judgement in (Judgement.PASS, Judgement.FAIL))


def made(name: str, seed: int = 0) -> Engine:
    return ENGINES.get(name)(Setup(seed, TARGETS, traits_of(TARGETS)))


def digests(name: str, seed: int, rounds: int = 2, verdict: Verdict = PASS) -> list[str]:
    engine = made(name, seed)
    found: list[str] = []
    for _ in range(rounds):
        cases = [ask.case for ask in engine.ask()]
        first = len(found)
        found += [case.digest for case in cases]
        engine.tell([Result(index, case.digest, (verdict,)) for index, case in enumerate(cases, first)])
    return found


@pytest.mark.parametrize("name", ENGINES.names())
class TestEveryEngine:
    def test_it_has_its_name_and_asks_for_something(self, name: str) -> None:
        engine = made(name)
        assert engine.name == name
        assert engine.ahead >= 0
        assert engine.ask()

    def test_the_seed_decides(self, name: str) -> None:
        assert digests(name, 1) == digests(name, 1)
        assert not set(digests(name, 1, rounds=1)) & set(digests(name, 2, rounds=1))

    def test_no_case_comes_twice(self, name: str) -> None:
        found = digests(name, 0)
        assert len(set(found)) == len(found)


def test_cradle_goes_through_the_zoo_whatever_was_found() -> None:
    engine = made("cradle")
    subjects = [ask.case.subject for _ in ARCHITECTURES for ask in engine.ask()]
    names = [subject.name for subject in subjects if isinstance(subject, LayerGraph)]
    assert names == [ARCHITECTURES[name]().name for name in ARCHITECTURES]
    assert digests("cradle", 0, verdict=PASS) == digests("cradle", 0, verdict=FAIL)
