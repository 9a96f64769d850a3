"""How long an engine goes on: a time on the wall, or an exact number of cases; and why it ended."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..core.engine import Ask

#: Of the time, what goes into running cases; the rest is for confirming and reducing what they show.
SEARCHING = 2 / 3
#: Of the time, what has to be left for another round to be worth beginning.
_WORTHWHILE = 1 / 6
#: Of the time, what is kept for ending the workers and writing the report, where nothing waits to be confirmed.
_CLOSING = 1 / 20
#: Of the time, by how much a round that is under way may be late.
_LATE = 1 / 12
#: By how much confirming may be late, at most: what was seen and not confirmed is lost.
_GRACE, _LONGEST_GRACE = 1 / 12, 30.0


class StopReason(Enum):
    """Why a run ended; the value is what the user reads."""

    BUDGET = "the budget was used up"
    CASES = "all cases were run"
    INTERRUPTED = "interrupted"


def latest_end(seconds: float) -> float:
    """After how many seconds what is under way is given up, where so many were to be spent."""
    return seconds + min(_GRACE * seconds, _LONGEST_GRACE)


@dataclass
class CampaignBudget:
    """One engine's share: the whole time on the wall, with what it takes to confirm, reduce and file.

    Args:
        seconds: None where only the cases count.
        cases: exactly so many of those that count; None where only the time counts.
        searching: the share of the time after which suspicions are confirmed; of what is left then, the same again.
    """

    seconds: float | None = None
    cases: int | None = None
    searching: float = SEARCHING
    began: float = field(default_factory=lambda: time.monotonic())
    #: When suspicions were confirmed last, in seconds from the beginning.
    confirmed: float = 0.0
    #: Of the cases that count, how many were asked for.
    asked: int = 0

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    @property
    def is_used_up(self) -> bool:
        """Whether there is no time for another round."""
        return self.is_timed and self.spent >= self._last_round

    @property
    def is_timed(self) -> bool:
        return self.cases is None and self.seconds is not None

    @property
    def _total(self) -> float:
        return self.seconds or 0.0

    @property
    def _last_round(self) -> float:
        """Until when a round is worth beginning."""
        return self._total * (1 - (_WORTHWHILE if self.confirmed else _CLOSING))

    @property
    def _confirming(self) -> float:
        """When what waits has to be confirmed."""
        return self.confirmed + self.searching * (self._total - self.confirmed)

    def is_time_to_confirm(self, waiting: bool) -> bool:
        """Whether what waits has to be confirmed now, because that and reducing take time as well."""
        return waiting and self.is_timed and self.spent >= self._confirming

    def has_confirmed(self) -> None:
        """What is left of the time is divided anew."""
        self.confirmed = min(self.spent, self._total)

    # Moments on the monotonic clock; never, where only the cases count

    def end_of_search(self, waiting: bool) -> float:
        """When a round that is under way is given up."""
        late = self._confirming + _LATE * self._total if waiting else self._total * (1 - _CLOSING)
        return self._moment(late)

    @property
    def end_of_confirming(self) -> float:
        return self._moment(latest_end(self._total))

    @property
    def end_of_reducing(self) -> float:
        return self._moment(self._total)

    def _moment(self, seconds: float) -> float:
        return self.began + seconds if self.is_timed else math.inf

    def cut(self, asks: Sequence[Ask]) -> list[Ask]:
        """As many of a round as may still be run."""
        kept: list[Ask] = []
        for ask in asks:
            if self.cases is not None and self.asked >= self.cases:
                break
            kept.append(ask)
            self.asked += ask.counted
        return kept

    @property
    def is_complete(self) -> bool:
        """All cases that were wanted have been asked for."""
        return self.cases is not None and self.asked >= self.cases
