"""The loop: every command runs its engines through it.

Where time is limited, every engine searches for its share of it; then what they saw is confirmed, reduced and filed
together, because fresh workers are dear, and what is left of the time is divided in the same way again. Where cases are
counted, each engine runs all of its own, and what it saw is filed before the next one begins.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping, Sequence

from ..core.engine import Engine
from ..core.errors import OutOfTimeError
from ..triage.examine import Examined
from .budget import SEARCHING, CampaignBudget, CaseCount, StopReason
from .engine_search import EngineSearch, Pause
from .events import Progress
from .session import CampaignSession


class Loop:
    """Engines under one budget.

    Args:
        cases: of each engine, exactly so many of those that count; None where only the time counts.
    """

    def __init__(
        self, session: CampaignSession, engines: Sequence[Engine], budget: CampaignBudget, cases: int | None = None
    ) -> None:
        self._session = session
        self._budget = budget
        self._searches = [EngineSearch(session, engine, CaseCount(cases)) for engine in engines]

    def run(self) -> StopReason:
        """Until no engine has more cases, or the budget is used up; then everything is confirmed and filed.

        After Ctrl-C, what was convicted is still confirmed, but not reduced; a second one leaves that out, too.
        """
        try:
            self._run_laps()
        except KeyboardInterrupt:
            self._interrupt()
            return StopReason.INTERRUPTED
        finally:
            for search in self._searches:
                search.cancel()
                if search.has_begun:
                    self._session.emit(search.ended())
        stops = {search.stop for search in self._searches}
        return next((stop for stop in (StopReason.FAILED, StopReason.BUDGET) if stop in stops), StopReason.CASES)

    def _interrupt(self) -> None:
        for search in self._going_on:
            search.end(StopReason.INTERRUPTED)
        self._session.stop_reducing()
        with contextlib.suppress(KeyboardInterrupt):
            self._file(self._searches, wait=False)

    def _run_laps(self) -> None:
        self._session.hangs.time_limit.at = self._budget.end_of_confirming
        self._session.emit(Progress("starting workers, first cases", 0, None))  # on a busy machine: minutes of silence
        while going_on := self._going_on:
            self._run_lap(going_on)
            if self._budget.is_used_up:
                break
        for search in self._going_on:
            search.end(StopReason.BUDGET)
        if self._is_anything_waiting:
            self._file(self._searches, wait=True)

    @property
    def _going_on(self) -> list[EngineSearch]:
        return [search for search in self._searches if not search.has_ended]

    @property
    def _is_anything_waiting(self) -> bool:
        return any(search.has_waiting for search in self._searches) or self._session.hangs.are_pending

    def _run_lap(self, searches: Sequence[EngineSearch]) -> None:
        for position, search in enumerate(searches):
            self._run_turn(search, len(searches) - position, beside=len(searches) > 1)
            if not self._budget.is_timed:
                self._file([search], wait=True)
        if self._budget.is_timed:
            self._file(self._searches, wait=False)

    def _run_turn(self, search: EngineSearch, engines: int, *, beside: bool) -> None:
        turn = self._budget.turn(engines, beside=beside)
        while search.run_turn(turn, self._others_wait(search)) is Pause.DUE:
            self._file([search], wait=False)
            if turn.is_over(self._is_anything_waiting, search.suspected):
                return

    def _others_wait(self, search: EngineSearch) -> bool:
        others = any(other.has_waiting for other in self._searches if other is not search)
        return others or self._session.hangs.are_pending

    # Filing

    def _file(self, searches: Sequence[EngineSearch], *, wait: bool) -> None:
        """Confirm, reduce and file what was convicted; only then are those results recorded: nothing is lost.

        Args:
            wait: for hangs that are still being looked at.
        """
        began = time.monotonic()
        for search in searches:
            search.record()
        waiting = {search.engine.name: search.waiting for search in searches}
        suspected = sum(len(item.judged.suspicions) for found in waiting.values() for item in found)
        self._limit(self._budget.end_of_confirming)
        in_time = self._confirm(waiting)
        for search in searches:
            search.was_confirmed(in_time=in_time)
        self._session.take_hangs(wait=wait)
        self._limit(self._budget.end_of_reducing)
        self._session.file()
        for search in searches:
            search.was_filed(hangs=not self._session.hangs.are_pending)
        seconds = time.monotonic() - began
        for search in searches:
            search.seconds += seconds / len(searches)
        self._budget.has_confirmed()
        self._budget.has_handled(suspected, seconds if suspected else 0.0)

    def _limit(self, moment: float) -> None:
        if self._budget.is_timed:
            self._session.time_limit.at = moment

    def _confirm(self, waiting: Mapping[str, Sequence[Examined]]) -> bool:
        """What there is no time for is counted; False then."""
        found = [item for examined in waiting.values() for item in examined]
        if found or self._session.hangs.are_pending:
            done = sum(search.done for search in self._searches)
            self._session.emit(Progress("confirming in fresh processes", done, None))
        try:
            if found:
                self._session.confirm(waiting)
        except OutOfTimeError:
            self._session.unconfirmed += [s for item in found for s in item.judged.suspicions]
            return False
        return True


def run_engines(
    session: CampaignSession,
    engines: Sequence[Engine],
    *,
    seconds: float | None = None,
    cases: int | None = None,
    searching: float = SEARCHING,
    began: float | None = None,
) -> StopReason:
    """Engines, each with its share of the time; Ctrl-C ends the run, not the report.

    Args:
        seconds: the whole time on the wall, with confirming, reducing and filing.
        cases: exactly so many of each engine instead.
        began: when it began to count, on the monotonic clock; now, where nobody says.
    """
    first = time.monotonic() if began is None else began
    budget = CampaignBudget(seconds if cases is None else None, searching, first)
    stop = Loop(session, engines, budget, cases).run()
    session.time_limit.at = budget.end_of_merging
    _merge(session, trying=stop is not StopReason.INTERRUPTED)
    session.time_limit.at = math.inf
    return stop


def _merge(session: CampaignSession, *, trying: bool) -> None:
    try:
        session.merge(trying=trying)
    except OutOfTimeError:
        session.merge(trying=False)
