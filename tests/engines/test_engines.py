"""What every engine promises: rounds of a fixed size that depend on the seed alone."""

from __future__ import annotations

import pytest

from tensorparity.core.graph import LayerGraph
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.base import ENGINES
from tensorparity.engines.cradle import CradleEngine
from tensorparity.zoo.entries import ARCHITECTURES

PASS, FAIL = (Verdict(judgement, ("a", "b"), "said so") for judgement in (Judgement.PASS, Judgement.FAIL))


def digests(name: str, seed: int, rounds: int = 2, verdict: Verdict = PASS) -> list[str]:
    engine = ENGINES.get(name)(seed)
    found = []
    for index in range(rounds):
        cases = engine.propose(index)
        found += [case.digest for case in cases]
        engine.learn(index, [[verdict]] * len(cases))
    return found


@pytest.mark.parametrize("name", ENGINES.names())
class TestEveryEngine:
    def test_rounds_have_the_promised_size(self, name: str) -> None:
        engine = ENGINES.get(name)(0)
        assert engine.name == name
        assert len(engine.propose(0)) == engine.round_size > 0

    def test_the_seed_decides(self, name: str) -> None:
        assert digests(name, 1) == digests(name, 1)
        assert not set(digests(name, 1, rounds=1)) & set(digests(name, 2, rounds=1))

    def test_no_case_comes_twice(self, name: str) -> None:
        found = digests(name, 0)
        assert len(set(found)) == len(found)


def test_cradle_goes_through_the_zoo_whatever_was_found() -> None:
    cases = CradleEngine(0).propose(3)
    assert [case.subject.name for case in cases if isinstance(case.subject, LayerGraph)] == [
        ARCHITECTURES[name]().name for name in ARCHITECTURES
    ]
    assert digests("cradle", 0, verdict=PASS) == digests("cradle", 0, verdict=FAIL)


def test_cradle_can_start_at_any_round() -> None:
    assert [case.digest for case in CradleEngine(0).propose(1)] == digests("cradle", 0)[CradleEngine.round_size :]
