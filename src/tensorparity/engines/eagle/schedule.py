"""Which pairs of a rule and a function come next: a sweep seldom has time for all.

Functions have turns, ``EACH`` pairs in a turn. In its turn a function meets first what it has met least, of this the
rules that the fewest other functions have met so far, of these the cheap ones. So wherever time runs out, every rule
has met some functions and every function that had a turn some rules; a rule that speaks of few functions meets each of
them at once. Other configurations of a pair come when the function has met every rule on one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")

#: Pairs in one turn of a function.
EACH = 6
#: From this cost on something is compiled: a rule meets its first functions one by one, then so many in a row, which go
#: to the compiler together, as soon as other rules have met as many.
_COMPILED, _ONE_BY_ONE, _TOGETHER = 2, 2, 16
_SALT = 0x70AD


class Column(NamedTuple):
    """A rule, with gradients of one order."""

    cost: int
    rule: str
    order: int = 0


@dataclass(frozen=True)
class _Offer(Generic[T]):
    columns: frozenset[Column]
    make: Callable[[Column], T | None]


@dataclass
class _Function(Generic[T]):
    """What there is for one function.

    Args:
        begun: by column, the first offer that it has not looked at.
        given: how many pairs came of each column; ``by_rule`` of each rule.
    """

    offers: list[_Offer[T]] = field(default_factory=list)
    columns: set[Column] = field(default_factory=set)
    begun: Counter[Column] = field(default_factory=Counter)
    given: Counter[Column] = field(default_factory=Counter)
    by_rule: Counter[str] = field(default_factory=Counter)

    def take(self, column: Column) -> T | None:
        """The next pair of a column; None where no offer makes one any more."""
        while self.begun[column] < len(self.offers):
            offer = self.offers[self.begun[column]]
            self.begun[column] += 1
            made = offer.make(column) if column in offer.columns else None
            if made is not None:
                self.given[column] += 1
                self.by_rule[column.rule] += 1
                return made
        return None

    @property
    def open_columns(self) -> list[Column]:
        return [column for column in self.columns if self.begun[column] < len(self.offers)]


class Schedule(Generic[T]):
    """The pairs of a run that wait; what comes next depends on the seed and on what was offered, on nothing else."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, _SALT])
        self._functions: dict[str, _Function[T]] = {}
        #: Functions whose first turn is due, and those that had one; in order.
        self._first: dict[str, None] = {}
        self._again: dict[str, None] = {}
        self._met: Counter[Column] = Counter()
        self._rules_met: Counter[str] = Counter()
        self._place: dict[Column, float] = {}

    def __len__(self) -> int:
        """How many functions have something waiting."""
        return len(self._first) + len(self._again)

    def offer(self, function: str, columns: Iterable[Column], make: Callable[[Column], T | None]) -> None:
        """Something of a function from which pairs may be made, each when its turn comes."""
        if not (offered := list(columns)):
            return
        if function not in self._functions:
            self._first[function] = None
        elif function not in self._first:
            self._again[function] = None
        own = self._functions.setdefault(function, _Function())
        own.offers.append(_Offer(frozenset(offered), make))
        own.columns.update(offered)
        for column in offered:
            if column not in self._place:
                self._place[column] = float(self._rng.random())

    def bring_forward(self, function: str) -> None:
        """Its turn is due like that of a function that had none."""
        if self._again.pop(function, self) is None:
            self._first[function] = None

    def first_turns(self, most: int) -> list[T]:
        """Pairs of functions whose first turn is due; hardly more than so many."""
        return self._turns(self._first, most)

    def turns(self, most: int) -> list[T]:
        """The next pairs, those of first turns before all others."""
        found = self.first_turns(most)
        return found + self._turns(self._again, most - len(found))

    def _turns(self, queue: dict[str, None], most: int) -> list[T]:
        found: list[T] = []
        while queue and len(found) < most:
            function = next(iter(queue))
            del queue[function]
            taken = self._turn(self._functions[function])
            if taken:
                self._again[function] = None
            found += taken
        return found

    def _turn(self, own: _Function[T]) -> list[T]:
        found: list[T] = []
        for column in sorted(own.open_columns, key=lambda column: self._rank(own, column)):
            made = own.take(column)
            if made is not None:
                self._met[column] += 1
                self._rules_met[column.rule] += 1
                found.append(made)
            if len(found) == EACH:
                break
        return found

    def _rank(self, own: _Function[T], column: Column) -> tuple[float, ...]:
        met = self._rules_met[column.rule]
        rule = met - own.by_rule[column.rule] if column.cost < _COMPILED else _counted(met)
        others = self._met[column] - own.given[column]
        return own.given[column], rule, column.cost, others, column.order, self._place[column]


def _counted(met: int) -> int:
    """What the functions that met a rule count for, where these are compiled together."""
    if met < _ONE_BY_ONE:
        return met
    return _ONE_BY_ONE if (met - _ONE_BY_ONE) % _TOGETHER else met + _TOGETHER
