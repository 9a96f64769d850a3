"""How long an engine goes on: a time, or an exact number of cases; and why it ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..core.engine import Ask


class StopReason(Enum):
    """Why a run ended; the value is what the user reads."""

    BUDGET = "the budget was used up"
    CASES = "all cases were run"
    INTERRUPTED = "interrupted"


@dataclass
class CampaignBudget:
    """One engine's share.

    Args:
        seconds: None where only the cases count.
        cases: exactly so many of those that count; None where only the time counts.
        searching: the share of the time after which suspicions are confirmed; of what is left then, the same again.
    """

    seconds: float | None = None
    cases: int | None = None
    searching: float = 1.0
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
        return self._is_timed and self.spent >= (self.seconds or 0.0)

    @property
    def _is_timed(self) -> bool:
        return self.cases is None and self.seconds is not None

    def is_time_to_confirm(self, waiting: bool) -> bool:
        """Whether what waits has to be confirmed now, because that and reducing take time as well."""
        seconds = self.seconds or 0.0
        return waiting and self._is_timed and self.spent >= self.confirmed + self.searching * (seconds - self.confirmed)

    def has_confirmed(self) -> None:
        """What is left of the time is divided anew."""
        self.confirmed = min(self.spent, self.seconds or 0.0)

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
