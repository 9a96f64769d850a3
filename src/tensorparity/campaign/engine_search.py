"""One engine under the loop: it is asked, and told.

An engine is asked for rounds of cases and told what came of them. A few rounds are under way while one is judged, so
that workers do not wait for the judge; how many is the engine's own constant, so that what it knows when it is asked
depends on nothing but its seed. What was convicted waits until the loop has it confirmed, reduced and filed.
"""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from ..core.arraytext import arrays_to_json
from ..core.case import Case
from ..core.endings import without_limits
from ..core.engine import Ask, Engine, KeepsCases, KeptCase, Phased, Result, Standing, Watchable
from ..core.errors import EngineError, OutOfTimeError, TensorParityError
from ..core.finding import Class
from ..core.jsontext import Json
from ..core.messages import gist
from ..core.outcome import Outcome, Status
from ..core.procedure import Goal
from ..core.signature import Key
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from ..engines.base import ENGINES
from ..triage.examine import BegunExamination, Examined
from .budget import CampaignBudget, CaseCount, StopReason, Turn
from .events import CaseDone, EngineEnded, Progress, WorkerDied
from .hangs import split_hangs
from .phases import PhaseClock
from .session import CampaignSession

T = TypeVar("T")

_DEATHS = (Status.CRASHED, Status.TIMED_OUT, Status.OUT_OF_MEMORY)


class Pause(Enum):
    """Why an engine searches no further for now."""

    TURN = "its turn is over"
    DUE = "so much waits that it is filed before the turn goes on"
    ENDED = "it has no more cases, or no time"


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


class EngineSearch:
    """One engine's part of a campaign: turns in which it searches, and what waits to be confirmed of them.

    Args:
        count: of its cases.
    """

    def __init__(self, session: CampaignSession, engine: Engine, count: CaseCount) -> None:
        self.engine = engine
        self._session = session
        self._count = count
        self._known = {result.index: result for result in session.recorded(engine.name)}
        #: Ends the phases of an engine that has some; made in its first turn.
        self._clock: PhaseClock | None = None
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
        #: Seconds of all turns and filings; and those in which rounds were judged.
        self.seconds = 0.0
        self._running = 0.0
        self._begun = False
        self._cut = False
        self.has_ended = False
        self.stop = StopReason.CASES
        #: What a plug-in's engine ended with, where that was an exception.
        self.failure = ""

    def run_turn(self, turn: Turn, others_wait: bool) -> Pause:
        """Search until the turn is over, the engine has no more cases, or what was found should be filed now.

        Args:
            others_wait: something waits to be confirmed of another engine.

        Raises:
            OutOfTimeError: where a case runs into a limit that the budget did not set.
        """
        began = time.monotonic()
        self._begin(turn)
        try:
            return self._run_rounds(turn, others_wait)
        except OutOfTimeError:
            if not turn.budget.is_timed:
                raise
            self.end(StopReason.BUDGET)  # the round that was under way is told to nobody
            return Pause.ENDED
        except EngineError as error:
            self.failure = str(error)
            self.end(StopReason.FAILED)
            return Pause.ENDED
        finally:
            self.seconds += time.monotonic() - began

    def _begin(self, turn: Turn) -> None:
        self._session.searching = self.engine.name
        if not self._begun and isinstance(self.engine, Phased) and self.engine.shares:
            seconds = turn.of_phases if self.engine.filed else turn.of_search
            self._clock = PhaseClock(self.engine, seconds) if seconds is not None else None
        self._begun = True

    def _run_rounds(self, turn: Turn, others_wait: bool) -> Pause:
        self._limit(turn, others_wait)
        while self._ask(turn.budget):
            self._take(self._flight.popleft())
            if self._session.is_due(self._unfiled):
                return Pause.DUE
            if turn.is_over(others_wait or self.has_waiting, self.suspected):
                return Pause.TURN
            self._limit(turn, others_wait)
        self.end(self.stop)
        return Pause.ENDED

    def _limit(self, turn: Turn, others_wait: bool) -> None:
        if turn.budget.is_timed:
            self._session.time_limit.at = turn.give_up(others_wait or self.has_waiting, self.suspected)

    def end(self, stop: StopReason) -> None:
        """It has no further turn; what was found is still filed."""
        self.stop, self.has_ended = stop, True
        self.cancel()

    def cancel(self) -> None:
        """Give up the rounds that are under way."""
        for item in self._flight:
            item.begun.cancel()
        self._flight.clear()

    @property
    def has_begun(self) -> bool:
        """Whether it has had a turn."""
        return self._begun

    @property
    def has_waiting(self) -> bool:
        """Whether anything has to be confirmed yet."""
        return bool(self._waiting)

    @property
    def suspected(self) -> int:
        """How many suspicions wait to be confirmed."""
        return sum(len(item.judged.suspicions) for item in self._waiting)

    @property
    def done(self) -> int:
        """How many of the cases that count were judged."""
        return self._done

    def ended(self) -> EngineEnded:
        """What is said of it at its end."""
        engine = self.engine
        tables: Mapping[str, Json] = {}
        kept: tuple[KeptCase, ...] = ()
        try:
            kept = tuple(self._by_engine(engine.kept_cases)) if isinstance(engine, KeepsCases) else ()
            tables = self._by_engine(engine.tables)
        except EngineError as error:
            self.failure = self.failure or str(error)
        return EngineEnded(engine.name, self.stop.value, self.seconds, self._running, tables, kept, self.failure)

    def _by_engine(self, call: Callable[[], T]) -> T:
        """What the engine answers.

        Raises:
            EngineError: where somebody else's fails; a failure of ours is a bug of ours.
        """
        try:
            return call()
        except Exception as error:
            name = self.engine.name
            if isinstance(error, TensorParityError) or ENGINES.is_ours(name):
                raise
            line = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(line.filename).name}, line {line.lineno}"
            said = f"{type(error).__name__} ({place}): {gist(str(error))}"
            raise EngineError(f"the engine {name} ended with {said}") from error

    # Filing, which is everybody's: the loop confirms what waits, and says when it is filed

    @property
    def waiting(self) -> Sequence[Examined]:
        """What has to be confirmed; it waits until somebody says that it was."""
        return self._waiting

    def was_confirmed(self, *, in_time: bool) -> None:
        """What waited was confirmed; what was not in time is not recorded, and whoever resumes sees it again."""
        self._waiting.clear()
        if not in_time:
            self._convicted.clear()

    def was_filed(self, *, hangs: bool) -> None:
        """What was confirmed is filed.

        Args:
            hangs: these as well.
        """
        self._finished += self._convicted
        self._convicted.clear()
        if hangs:
            self._finished += self._hung
            self._hung.clear()
        self.record()
        self._unfiled = 0

    def record(self) -> None:
        """Store the results of which nothing has to be filed any more."""
        self._session.record(self.engine.name, self._finished)
        self._finished.clear()

    # Asking

    def _ask(self, budget: CampaignBudget) -> bool:
        """Have as many rounds under way as the engine allows; False when there is nothing left to judge."""
        if budget.is_used_up:
            self.stop = StopReason.BUDGET
            return False
        while len(self._flight) <= self.engine.ahead and not (self._cut or self._count.is_complete):
            if self._clock is not None:
                self._clock.before_asking()
                self.stop = StopReason.BUDGET if self._clock.cut else self.stop
            asks = self._by_engine(self.engine.ask)
            if not asks:
                break  # until it is told more, if anything is under way; else it has finished
            kept = self._count.cut(asks)
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
        self._by_engine(lambda: self.engine.tell([taught(result) for result in results]))
        if self._clock is not None:
            self._clock.after_telling()
        self._running += time.monotonic() - began
        self.record()
        self._tell_progress()

    def _tell_progress(self) -> None:
        standing = self.engine.standing() if isinstance(self.engine, Watchable) else Standing()
        summary = self._session.summary(len(self._waiting))
        detail = ", ".join(text for text in (standing.detail, summary) if text)
        phase, by_cases = standing.phase or self.engine.name, standing.done is None
        done = self._done if standing.done is None else standing.done
        self._session.emit(Progress(phase, done, self._count.most if by_cases else standing.total, detail))

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
        emit, name = self._session.emit, self.engine.name
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
