"""A moment at which everything that is under way ends: whoever waits for it learns that the time is used up."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass


@dataclass
class TimeLimit:
    """Shared by who sets it and by who runs cases; without one by default.

    Args:
        at: on the monotonic clock.
    """

    at: float = math.inf

    @property
    def left(self) -> float | None:
        """Seconds, none below 0; None without a limit."""
        return None if math.isinf(self.at) else max(0.0, self.at - time.monotonic())

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.at
