"""The clock of an engine whose search has phases: each has its share of the time, however long the others took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ..core.engine import Phased
from .events import CaseDone, Confirmed, Event


@dataclass
class PhaseClock:
    """Ends a phase that used up its share, so that the next one has its own.

    Args:
        seconds: of all phases together.
        cut: something was left out for want of time.
    """

    engine: Phased
    seconds: float
    cut: bool = False
    _phase: str = ""
    _since: float = field(default_factory=lambda: time.monotonic())
    #: Something was filed of the phase whose results are filed together: a search leaves not all of it undecided.
    _has_filed: bool = False

    def before_asking(self) -> None:
        """End the phases that have no time left."""
        while not self._has_time():
            if not self.engine.end_phase():
                return
            self.cut = True

    def after_telling(self) -> None:
        self._has_filed |= self.engine.settled and self.engine.phase == self.engine.filed

    def _has_time(self) -> bool:
        phase = self.engine.phase
        if phase != self._phase:
            self._since = time.monotonic() if self._phase else self._since
            self._phase = phase
        share = self.engine.shares.get(phase)
        if share is None or (phase == self.engine.filed and not self._has_filed):
            return True
        return time.monotonic() - self._since < share * self.seconds


@dataclass
class PartTimes:
    """A handler of events that times the parts of an experiment which are run one after another."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=lambda: time.monotonic())

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseDone):
            self.seconds[event.part] = self.seconds.get(event.part, 0.0) + self._since_last()
        elif isinstance(event, Confirmed):  # no part of anybody's search
            self._since_last()

    def _since_last(self) -> float:
        before, self._last = self._last, time.monotonic()
        return self._last - before
