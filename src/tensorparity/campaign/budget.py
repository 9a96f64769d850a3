"""How the time of a campaign is divided: between its engines, and between searching and what comes of it.

A campaign runs in laps. In each every engine has a turn to search; then what was seen is confirmed, reduced and filed
together, for which a third of the time is kept. What is left after that is another lap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..core.engine import Ask

#: Of the time, what goes into running cases; the rest is for confirming and reducing what they show.
SEARCHING = 2 / 3
#: Of the time, what has to be left for another lap to be worth beginning.
_WORTHWHILE = 1 / 6
#: Of the time, what is kept for ending the workers and writing the report, where nothing waits to be confirmed.
_CLOSING = 1 / 20
#: Of the time, by how much a round that is under way may be late.
_LATE = 1 / 12
#: Of the time, what is kept for holding at the end everything that was found against every known defect.
_MERGING = 1 / 20
#: By how much confirming may be late, at most: what was seen and not confirmed is lost.
_GRACE, _LONGEST_GRACE = 1 / 12, 30.0
#: Of a turn, what is searched in any case, however much waits to be reduced.
_LEAST = 1 / 2
#: What it takes to confirm and reduce one suspicion, in seconds, before any was: of so many, seen on two cores.
_EACH, _SEEN = 5.0, 5


class StopReason(Enum):
    """Why a run ended; the value is what the user reads."""

    BUDGET = "the budget was used up"
    CASES = "all cases were run"
    INTERRUPTED = "interrupted"
    FAILED = "an engine failed"


def latest_end(seconds: float) -> float:
    """After how many seconds what is under way is given up, where so many were to be spent."""
    return seconds + min(_GRACE * seconds, _LONGEST_GRACE)


@dataclass
class CampaignBudget:
    """The whole time on the wall, with what it takes to confirm, reduce and file.

    Args:
        seconds: None where only the cases count.
        searching: the share of a lap after which suspicions are confirmed.
    """

    seconds: float | None = None
    searching: float = SEARCHING
    began: float = field(default_factory=lambda: time.monotonic())
    #: When everybody's suspicions were confirmed last, in seconds from the beginning: the lap began then.
    confirmed: float = 0.0
    #: What was spent on confirming and reducing, and for how many suspicions.
    _handling: float = _EACH * _SEEN
    _handled: int = _SEEN

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    @property
    def is_timed(self) -> bool:
        return self.seconds is not None

    @property
    def total(self) -> float:
        return self.seconds or 0.0

    @property
    def is_used_up(self) -> bool:
        """Whether there is no time for another round."""
        return self.is_timed and self.spent >= self.total * (1 - (_WORTHWHILE if self.confirmed else _CLOSING))

    def has_confirmed(self) -> None:
        """What is left of the time is divided anew."""
        self.confirmed = min(self.spent, self.total)

    def has_handled(self, suspicions: int, seconds: float) -> None:
        """So many were confirmed, reduced and filed in so many seconds."""
        self._handled += suspicions
        self._handling += seconds

    def expected(self, suspicions: int) -> float:
        """What it takes to confirm and reduce so many, in seconds."""
        return suspicions * self._handling / self._handled

    def end_of_searching(self, waiting: bool) -> float:
        """When the lap's search is over, in seconds from the beginning."""
        if not waiting:
            return self.total * (1 - _CLOSING)
        return self.confirmed + self.searching * (self.total - self.confirmed)

    # Moments on the monotonic clock; never, where only the cases count

    @property
    def end_of_confirming(self) -> float:
        return self.moment(latest_end(self.total))

    @property
    def end_of_reducing(self) -> float:
        return self.moment(self.total * (1 - _MERGING))

    @property
    def end_of_merging(self) -> float:
        return self.moment(self.total)

    def moment(self, seconds: float) -> float:
        return self.began + seconds if self.is_timed else math.inf

    def turn(self, engines: int, *, beside: bool = False) -> Turn:
        """The next engine's turn; so many of this lap are left, it among them."""
        return Turn(self, engines, self.spent, beside)


@dataclass(frozen=True)
class Turn:
    """One engine's part of a lap.

    Args:
        engines: between how many what is left of the lap is divided.
        began: in seconds of the budget.
        beside: other engines have turns in this lap, or had.
    """

    budget: CampaignBudget
    engines: int
    began: float
    beside: bool = False

    def is_over(self, waiting: bool, own: int) -> bool:
        """Whether the next engine has its turn, or what waits is to be confirmed.

        Args:
            waiting: whether anything waits, of any engine.
            own: how many suspicions of this engine wait.
        """
        if not self.budget.is_timed or (not waiting and self.engines == 1):
            return False
        return self.budget.spent >= self._end(waiting, own)

    def give_up(self, waiting: bool, own: int) -> float:
        """When a round that is under way is given up, on the monotonic clock."""
        if not waiting and self.engines == 1:
            return self.budget.moment(self.budget.end_of_searching(False))
        return self.budget.moment(self._end(waiting, own) + _LATE * self.budget.total)

    @property
    def of_phases(self) -> float | None:
        """What an engine whose search has phases divides between them.

        Alone, it keeps time for what it finds itself; beside others a turn is for searching.
        """
        if not self.budget.is_timed:
            return None
        alone = not self.beside
        return self._share(self.budget.total if alone else self.budget.end_of_searching(True))

    @property
    def of_search(self) -> float | None:
        """What an engine divides whose phases are all for searching; what it finds is filed with everybody's."""
        return self._share(self.budget.end_of_searching(True)) if self.budget.is_timed else None

    def _end(self, waiting: bool, own: int) -> float:
        """Its share of the search, or as much of it as leaves time for what it has found already."""
        budget = self.budget
        share = self._share(budget.end_of_searching(waiting))
        free = self._share(budget.end_of_searching(False)) - budget.expected(own)
        return self.began + min(share, max(free, _LEAST * share))

    def _share(self, end: float) -> float:
        return max(0.0, end - self.began) / self.engines


@dataclass
class CaseCount:
    """How many cases an engine is asked for.

    Args:
        most: exactly so many of those that count; None where only the time counts.
    """

    most: int | None = None
    asked: int = 0

    def cut(self, asks: Sequence[Ask]) -> list[Ask]:
        """As many of a round as may still be run."""
        kept: list[Ask] = []
        for ask in asks:
            if self.is_complete:
                break
            kept.append(ask)
            self.asked += ask.counted
        return kept

    @property
    def is_complete(self) -> bool:
        """All cases that were wanted have been asked for."""
        return self.most is not None and self.asked >= self.most
