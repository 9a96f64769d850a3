"""Rounds under way: in order, none lost, none begun after the end."""

from __future__ import annotations

from tensorparity.campaign.rounds import AHEAD, rounds_ahead


class Begun:
    def __init__(self, pairs: list[int], log: list[str]) -> None:
        self._pairs, self._log = pairs, log

    def outcomes(self) -> list[int]:
        return [pair * 10 for pair in self._pairs]

    def cancel(self) -> None:
        self._log.append(f"cancelled {self._pairs[0]}")


class Fakes:
    """A runner and an examiner of numbers."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def pairs(self, cases: list[int]) -> list[int]:
        return cases

    def begin_pairs(self, pairs: list[int]) -> Begun:
        self.log.append(f"begun {pairs[0]}")
        return Begun(pairs, self.log)


class Alone:
    """Single cases beside the networks: hundreds."""

    def __init__(self) -> None:
        self.count = 0

    def propose(self) -> Alone:
        self.count += 1
        return self

    def pairs(self) -> list[int]:
        return [100, 200]


class Number:
    def __init__(self, case: int) -> None:
        self.case = case


def _proposer(count: int, flying: list[int]):
    numbers = iter(range(count))

    def propose(under_way: int) -> list[Number]:
        flying.append(under_way)
        return [Number(number) for number in [next(numbers, None)] if number is not None]

    return propose


def test_every_round_comes_once_and_in_order() -> None:
    fakes, flying = Fakes(), []
    beside = Alone()
    found = list(rounds_ahead(fakes, fakes, _proposer(7, flying), beside))
    assert [item.outcomes for item in found] == [[number * 10] for number in range(7)]
    assert [item.beside for item in found] == [[1000, 2000]] * 7
    assert beside.count == 7
    assert max(flying) == AHEAD
    assert not any(line.startswith("cancelled") for line in fakes.log)


def test_the_next_rounds_are_begun_before_the_first_is_handed_out() -> None:
    fakes = Fakes()
    rounds = rounds_ahead(fakes, fakes, _proposer(7, []), Alone())
    next(rounds)
    assert fakes.log == [f"begun {number}" for number in range(AHEAD + 1)]


def test_leaving_cancels_what_is_under_way() -> None:
    fakes = Fakes()
    rounds = rounds_ahead(fakes, fakes, _proposer(7, []), Alone())
    next(rounds)
    rounds.close()
    assert fakes.log[-AHEAD:] == [f"cancelled {number}" for number in range(1, AHEAD + 1)]
