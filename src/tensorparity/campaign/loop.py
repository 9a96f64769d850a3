"""The loop: every command runs its engines through it.

An engine is asked for rounds of cases and told what came of them. A few rounds are under way while one is judged, so
that workers do not wait for the judge; how many is the engine's own constant, so that what it knows when it is asked
depends on nothing but its seed. What was convicted is confirmed, reduced and filed together.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.endings import without_limits
from ..core.engine import Ask, Engine, Result
from ..core.finding import Class
from ..core.outcome import Outcome, Status
from ..core.signature import Key
from ..core.verdict import Kind
from ..triage.examine import BegunExamination, Examined
from .budget import CampaignBudget, StopReason
from .events import CaseDone, EngineEnded, Progress, WorkerDied
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
    """

    def __init__(
        self, session: CampaignSession, engine: Engine, budget: CampaignBudget, known: Mapping[int, Result]
    ) -> None:
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
                self._file()
        finally:
            self._cancel()
            self._end()
        return self.stop

    def _search(self) -> None:
        while self._ask():
            self._take(self._flight.popleft())
            if self._session.is_due(self._unfiled) or self._budget.is_time_to_confirm(bool(self._waiting)):
                self._file()
        self._file()

    def _cancel(self) -> None:
        for item in self._flight:
            item.begun.cancel()
        self._flight.clear()

    def _end(self) -> None:
        seconds = self._budget.spent
        tables = self._engine.tables()
        self._session.emit(EngineEnded(self._engine.name, self.stop.value, seconds, self._running, tables))

    # Asking

    def _ask(self) -> bool:
        """Have as many rounds under way as the engine allows; False when there is nothing left to judge."""
        if self._budget.is_used_up:
            self.stop = StopReason.BUDGET
            return False
        while len(self._flight) <= self._engine.ahead and not (self._cut or self._budget.is_complete):
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
        judged = iter(self._session.examiner.judge(item.begun))
        results: list[Result] = []
        for index, ask in enumerate(item.asks, item.first):
            examined = None if index in item.known else self._without_repeats(ask, next(judged))
            result = item.known[index] if examined is None else result_of(index, examined)
            results.append(result)
            self._report(ask, result, examined)
        self._engine.tell([taught(result) for result in results])
        self._running += time.monotonic() - began
        self._record()
        summary = self._session.summary(len(self._waiting))
        self._session.emit(Progress(self._engine.name, self._done, self._budget.cases, summary))

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
            emit(CaseDone(name, result, counted=ask.counted, resumed=True))
        else:
            again = tuple("/".join(key[:3]) for key in examined.known)
            judged = (examined.judged, *examined.measured)
            emit(CaseDone(name, result, examined.own, ask.counted, False, examined.oracle, again, judged))
            for target, outcome in examined.own.items():
                if outcome.status in _DEATHS:
                    emit(WorkerDied(target, outcome.status, result.digest))
            self._session.remember(examined.own)
            self._queue(result, examined)
        self._done += ask.counted
        self._unfiled += ask.counted

    def _queue(self, result: Result, examined: Examined) -> None:
        """A result that is recorded has nothing left to do: what was convicted waits until it is filed."""
        if examined.judged.suspicions:
            self._waiting.append(examined)
            self._convicted.append(result)
        else:
            self._finished.append(result)

    def _record(self) -> None:
        self._session.record(self._engine.name, self._finished)
        self._finished.clear()

    def _file(self) -> None:
        """Confirm, reduce and file what was convicted; only then are those results recorded: nothing is lost."""
        self._record()
        if self._waiting:
            self._session.emit(Progress("confirming in fresh processes", self._done, self._budget.cases))
            self._session.confirm(self._waiting)
            self._waiting.clear()
        self._session.file(self._engine.name)
        self._finished += self._convicted
        self._convicted.clear()
        self._record()
        self._unfiled = 0
        self._budget.has_confirmed()


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
        _replies(examined.own),
        examined.judged.told,
    )


def _replies(outcomes: Mapping[str, Outcome]) -> dict[str, object]:
    return {target: outcome.reply for target, outcome in outcomes.items() if outcome.reply is not None}


def run_engines(
    session: CampaignSession,
    engines: Sequence[Engine],
    *,
    seconds: float | None = None,
    cases: int | None = None,
    searching: float = 1.0,
) -> StopReason:
    """Engines one after another, each with its share of the time that is left; Ctrl-C ends the run, not the report."""
    began, stop = time.monotonic(), StopReason.CASES
    for position, engine in enumerate(engines):
        left = None if seconds is None else seconds - (time.monotonic() - began)
        share = None if left is None else max(0.0, left / (len(engines) - position))
        known = {result.index: result for result in session.recorded(engine.name)}
        stop = Loop(session, engine, CampaignBudget(share, cases, searching), known).run()
        if stop is StopReason.INTERRUPTED:
            break
    return stop
