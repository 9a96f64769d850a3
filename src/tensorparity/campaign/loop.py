"""The loop: every command runs its engines through it.

An engine is asked for rounds of cases and told what came of them. A few rounds are under way while one is judged, so
that workers do not wait for the judge; how many is the engine's own constant, so that what it knows when it is asked
depends on nothing but its seed. What was convicted is confirmed, reduced and filed together.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.arraytext import arrays_to_json
from ..core.case import Case
from ..core.endings import without_limits
from ..core.engine import Ask, Engine, KeepsCases, Phased, Result, Standing, Watchable
from ..core.errors import OutOfTimeError
from ..core.finding import Class
from ..core.outcome import Outcome, Status
from ..core.procedure import Goal
from ..core.signature import Key
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from ..triage.examine import BegunExamination, Examined
from .budget import SEARCHING, CampaignBudget, StopReason
from .events import CaseDone, EngineEnded, Progress, WorkerDied
from .hangs import split_hangs
from .phases import PhaseClock
from .session import CampaignSession

_DEATHS = (Status.CRASHED, Status.TIMED_OUT, Status.OUT_OF_MEMORY)


@dataclass(frozen=True)
class _Round:
    """A round under way.

    Args:
        first: the index of its first case.
        known: by index, the results that an earlier part of the campaign has recorded.
    """

    first: int
    asks: tuple[Ask, ...]
    known: Mapping[int, Result]
    begun: BegunExamination


class Loop:
    """One engine under one budget.

    Args:
        known: results of an earlier part of the same campaign, by index.
        clock: ends the phases of an engine that has some.
    """

    def __init__(
        self,
        session: CampaignSession,
        engine: Engine,
        budget: CampaignBudget,
        known: Mapping[int, Result],
        clock: PhaseClock | None = None,
    ) -> None:
        self._clock = clock
        self._session = session
        self._engine = engine
        self._budget = budget
        self._known = known
        self._index = 0
        self._done = 0
        self._flight: deque[_Round] = deque()
        #: Cases since the last confirmation.
        self._unfiled = 0
        #: What has to be confirmed, with its results.
        self._waiting: list[Examined] = []
        self._convicted: list[Result] = []
        #: Hangs of the round that is judged; results of cases that hung, until it is known whether they do.
        self._hangs: list[Suspicion] = []
        self._hung: list[Result] = []
        #: Results of which nothing has to be filed any more.
        self._finished: list[Result] = []
        #: Keys of the defects of single cases.
        self._single: set[Key] = set()
        self._running = 0.0
        self._cut = False
        self.stop = StopReason.CASES

    def run(self) -> StopReason:
        """Until the engine has no more cases, or the budget is used up; then everything is confirmed and filed.

        After Ctrl-C, what was convicted is still confirmed, but not reduced; a second one leaves that out, too.
        """
        try:
            self._search()
        except KeyboardInterrupt:
            self.stop = StopReason.INTERRUPTED
            self._cancel()
            self._session.stop_reducing()
            with contextlib.suppress(KeyboardInterrupt):
                self._file(wait=False)
        finally:
            self._cancel()
            self._end()
        return self.stop

    def _search(self) -> None:
        try:
            self._run_rounds()
        except OutOfTimeError:
            if not self._budget.is_timed:
                raise
            self.stop = StopReason.BUDGET  # the round that was under way is told to nobody
        self._cancel()
        self._file()

    def _run_rounds(self) -> None:
        self._session.hangs.time_limit.at = self._budget.end_of_confirming
        self._limit_search()
        while self._ask():
            self._take(self._flight.popleft())
            if self._session.is_due(self._unfiled) or self._budget.is_time_to_confirm(self._is_waiting):
                self._file(wait=False)
            self._limit_search()

    @property
    def _is_waiting(self) -> bool:
        """Whether anything has to be confirmed yet."""
        return bool(self._waiting) or self._session.hangs.are_pending

    def _limit_search(self) -> None:
        if self._budget.is_timed:
            self._session.time_limit.at = self._budget.end_of_search(self._is_waiting)

    def _cancel(self) -> None:
        for item in self._flight:
            item.begun.cancel()
        self._flight.clear()

    def _end(self) -> None:
        engine, seconds = self._engine, self._budget.spent
        kept = tuple(engine.kept_cases()) if isinstance(engine, KeepsCases) else ()
        ended = EngineEnded(engine.name, self.stop.value, seconds, self._running, engine.tables(), kept)
        self._session.emit(ended)

    # Asking

    def _ask(self) -> bool:
        """Have as many rounds under way as the engine allows; False when there is nothing left to judge."""
        if self._budget.is_used_up:
            self.stop = StopReason.BUDGET
            return False
        while len(self._flight) <= self._engine.ahead and not (self._cut or self._budget.is_complete):
            if self._clock is not None:
                self._clock.before_asking()
                self.stop = StopReason.BUDGET if self._clock.cut else self.stop
            asks = self._engine.ask()
            if not asks:
                break  # until it is told more, if anything is under way; else it has finished
            kept = self._budget.cut(asks)
            self._cut = len(kept) < len(asks)
            if kept:
                self._flight.append(self._begin_round(kept))
        return bool(self._flight)

    def _begin_round(self, asks: Sequence[Ask]) -> _Round:
        first = self._index
        self._index += len(asks)
        known = {
            index: self._known[index]
            for index, ask in enumerate(asks, first)
            if index in self._known and self._known[index].digest == ask.case.digest
        }
        new = [ask for index, ask in enumerate(asks, first) if index not in known]
        return _Round(first, tuple(asks), known, self._session.examiner.begin(new))

    # Judging

    def _take(self, item: _Round) -> None:
        began = time.monotonic()
        judged = iter(self._session.examiner.judge(item.begun, _convicted_before(item)))
        results: list[Result] = []
        for index, ask in enumerate(item.asks, item.first):
            examined = None if index in item.known else self._without_repeats(ask, next(judged))
            result = item.known[index] if examined is None else result_of(index, examined)
            results.append(result)
            self._report(ask, result, examined)
        self._session.examiner.remember(_convicted_last(item))
        self._session.begin_hangs(self._hangs)
        self._hangs.clear()
        self._engine.tell([taught(result) for result in results])
        if self._clock is not None:
            self._clock.after_telling()
        self._running += time.monotonic() - began
        self._record()
        self._tell_progress()

    def _tell_progress(self) -> None:
        standing = self._engine.standing() if isinstance(self._engine, Watchable) else Standing()
        summary = self._session.summary(len(self._waiting))
        detail = ", ".join(text for text in (standing.detail, summary) if text)
        phase, by_cases = standing.phase or self._engine.name, standing.done is None
        done = self._done if standing.done is None else standing.done
        self._session.emit(Progress(phase, done, self._budget.cases if by_cases else standing.total, detail))

    def _without_repeats(self, ask: Ask, examined: Examined) -> Examined:
        """Of single cases beside others, only defects are kept, each once: what blames nobody is counted."""
        if ask.counted:
            return examined
        found = examined.judged.suspicions
        defects = [s for s in found if s.diagnosis.klass is Class.DEFECT]
        self._session.set_aside({s.diagnosis.klass for s in found} - {Class.DEFECT})
        new = [s for s in defects if s.key not in self._single]
        self._single.update(s.key for s in new)
        return replace(examined, judged=replace(examined.judged, suspicions=tuple(new)))

    def _report(self, ask: Ask, result: Result, examined: Examined | None) -> None:
        emit, name = self._session.emit, self._engine.name
        if examined is None:
            emit(CaseDone(name, result, counted=ask.counted, resumed=True, part=ask.part))
        else:
            again = tuple("/".join(key[:3]) for key in examined.known)
            judged = (examined.judged, *examined.measured)
            emit(
                CaseDone(
                    name,
                    result,
                    examined.own,
                    ask.counted,
                    part=ask.part,
                    oracle=examined.oracle,
                    again=again,
                    judged=judged,
                    times=examined.times,
                )
            )
            for target, outcome in examined.own.items():
                if outcome.status in _DEATHS:
                    emit(WorkerDied(target, outcome.status, result.digest))
            self._session.remember(examined.own)
            self._queue(result, examined)
        self._done += ask.counted
        self._unfiled += ask.counted

    def _queue(self, result: Result, examined: Examined) -> None:
        """A result that is recorded has nothing left to do: what was convicted waits until it is filed."""
        hangs, rest = split_hangs(examined) if self._session.selection.hangs_apart else ([], examined)
        self._hangs += hangs
        if rest.judged.suspicions:
            self._waiting.append(rest)
        if hangs:
            self._hung.append(result)
        elif rest.judged.suspicions:
            self._convicted.append(result)
        else:
            self._finished.append(result)

    def _record(self) -> None:
        self._session.record(self._engine.name, self._finished)
        self._finished.clear()

    def _file(self, *, wait: bool = True) -> None:
        """Confirm, reduce and file what was convicted; only then are those results recorded: nothing is lost.

        Args:
            wait: for hangs that are still being looked at.
        """
        self._record()
        if self._budget.is_timed:
            self._session.time_limit.at = self._budget.end_of_confirming
        self._confirm(wait)
        if self._budget.is_timed:
            self._session.time_limit.at = self._budget.end_of_reducing
        self._session.file(self._engine.name)
        self._finished += self._convicted
        self._convicted.clear()
        if not self._session.hangs.are_pending:
            self._finished += self._hung
            self._hung.clear()
        self._record()
        self._unfiled = 0
        self._budget.has_confirmed()

    def _confirm(self, wait: bool) -> None:
        """What there is no time for is counted, and not recorded: whoever resumes sees it again."""
        if self._waiting or (wait and self._session.hangs.are_pending):
            self._session.emit(Progress("confirming in fresh processes", self._done, self._budget.cases))
        try:
            if self._waiting:
                self._session.confirm(self._waiting)
        except OutOfTimeError:
            self._session.unconfirmed += [s for item in self._waiting for s in item.judged.suspicions]
            self._convicted.clear()
        self._waiting.clear()
        self._session.take_hangs(wait=wait)


def _convicted_before(item: _Round) -> list[list[tuple[str, ...]]]:
    """For each new case of a round, the convictions of the known ones between it and the new one before it."""
    return _convictions(item)[:-1]


def _convicted_last(item: _Round) -> list[tuple[str, ...]]:
    """The convictions of the known cases behind the last new one."""
    return _convictions(item)[-1]


def _convictions(item: _Round) -> list[list[tuple[str, ...]]]:
    found: list[list[tuple[str, ...]]] = [[]]
    for index in range(item.first, item.first + len(item.asks)):
        if index in item.known:
            found[-1] += item.known[index].convicted
        else:
            found.append([])
    return found


def taught(result: Result) -> Result:
    """What an engine is told of a result: nothing that depends on how loaded the machine is."""
    return replace(result, verdicts=tuple(verdict for verdict in result.verdicts if verdict.kind is not Kind.HANG))


def result_of(index: int, examined: Examined) -> Result:
    """What the store keeps of a case."""
    endings = {target: outcome.status for target, outcome in examined.own.items()}
    everybody = (examined.judged, *examined.measured)
    measures = {name: dict(by_target) for judged in everybody for name, by_target in judged.measures.items()}
    return Result(
        index,
        examined.case.digest,
        examined.judged.verdicts,
        without_limits(endings),
        measures,
        _replies(examined.case, examined.own),
        examined.judged.told,
        examined.convicted,
    )


def _replies(case: Case, outcomes: Mapping[str, Outcome]) -> dict[str, object]:
    """What the workers said besides; of inputs that a library brings along, the arrays as well."""
    found = {target: outcome.reply for target, outcome in outcomes.items() if outcome.reply is not None}
    if case.procedure.goal is not Goal.SAMPLES:
        return found
    return {target: {**reply, "arrays": arrays_to_json(outcomes[target].outputs)} for target, reply in found.items()}


def run_engines(
    session: CampaignSession,
    engines: Sequence[Engine],
    *,
    seconds: float | None = None,
    cases: int | None = None,
    searching: float = SEARCHING,
    began: float | None = None,
) -> StopReason:
    """Engines one after another, each with its share of the time that is left; Ctrl-C ends the run, not the report.

    Args:
        seconds: the whole time on the wall, with confirming, reducing and filing.
        began: when it began to count, on the monotonic clock; now, where nobody says.
    """
    stop, first = StopReason.CASES, time.monotonic() if began is None else began
    for position, engine in enumerate(engines):
        now = time.monotonic() if position else first
        left = None if seconds is None else seconds - (now - first)
        share = None if left is None else max(0.0, left / (len(engines) - position))
        known = {result.index: result for result in session.recorded(engine.name)}
        clock = _clock_of(engine, share)
        stop = Loop(session, engine, CampaignBudget(share, cases, searching, now), known, clock).run()
        if stop is StopReason.INTERRUPTED:
            break
    _merge(session, trying=stop is not StopReason.INTERRUPTED)
    session.time_limit.at = math.inf
    return stop


def _merge(session: CampaignSession, *, trying: bool) -> None:
    try:
        session.merge(trying=trying)
    except OutOfTimeError:
        session.merge(trying=False)


def _clock_of(engine: Engine, seconds: float | None) -> PhaseClock | None:
    phased = isinstance(engine, Phased) and bool(engine.shares)
    return PhaseClock(engine, seconds) if phased and seconds is not None else None  # type: ignore[arg-type]
