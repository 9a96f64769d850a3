"""What every engine promises: rounds that depend on the seed alone, and on what it is told."""

from __future__ import annotations

import pytest

from tensorparity.core.engine import Engine, Result
from tensorparity.core.oracle import Setup
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.base import ENGINES
from tensorparity.targets.catalogue import traits_of

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


def test_cradle_takes_the_zoo_whatever_was_found() -> None:
    assert digests(made("cradle", 0), verdict=PASS) == digests(made("cradle", 0), verdict=FAIL)


@pytest.mark.parametrize("name", ENGINES.names())
def test_a_round_may_be_cut_short(name: str) -> None:
    engine = made(name, 0)
    (first, *_) = engine.ask()
    engine.tell([Result(0, first.case.digest, (PASS,))])
    assert isinstance(engine.tables(), dict)
