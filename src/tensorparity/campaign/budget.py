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
class Budget:
    """One engine's share.

    Args:
        seconds: None where only the cases count.
        cases: exactly so many of those that count; None where only the time counts.
        searching: the share of the time after which no further round is begun while suspicions wait to be confirmed.
    """

    seconds: float | None = None
    cases: int | None = None
    searching: float = 1.0
    began: float = field(default_factory=time.monotonic)
    #: Of the cases that count, how many were asked for.
    asked: int = 0

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> float | None:
        return None if self.seconds is None else max(0.0, self.seconds - self.spent)

    def is_used_up(self, waiting: bool) -> bool:
        """Whether there is no time for another round.

        Args:
            waiting: suspicions have to be confirmed and reduced, which takes time as well.
        """
        if self.cases is not None or self.seconds is None:
            return False
        return self.spent >= self.seconds * (self.searching if waiting else 1.0)

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
