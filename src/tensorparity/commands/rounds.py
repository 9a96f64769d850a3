"""The rounds of one engine: asked for, run, judged and told, as many ahead as the engine allows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from ..core.engine import Engine, Result
from ..core.outcome import Outcome, Status
from ..triage.examine import Begun, Examined, Examiner

#: These depend on the machine's load, so they never teach.
_BLANKED = (Status.TIMED_OUT, Status.OUT_OF_MEMORY)


def rounds(engine: Engine, examiner: Examiner, go_on: Callable[[], bool]) -> Iterator[list[Examined]]:
    """What came of every round, before anything is confirmed.

    Args:
        go_on: asked whether to ask for another round; what is under way is still taken in.
    """
    waiting: deque[Begun] = deque()
    index = 0
    try:
        while True:
            while len(waiting) <= engine.ahead and go_on() and (asks := engine.ask()):
                waiting.append(examiner.begin(asks))
            if not waiting:
                return
            found = examiner.judge(waiting.popleft())
            engine.tell([result_of(index + place, item) for place, item in enumerate(found)])
            index += len(found)
            yield found
    finally:
        for begun in waiting:
            begun.cancel()


def result_of(index: int, examined: Examined) -> Result:
    """What an engine is told of a case."""
    judged = examined.judged
    endings = {target: _ending(outcome) for target, outcome in examined.own.items()}
    return Result(index, examined.case.digest, judged.verdicts, endings, judged.measures, facts=judged.facts)


def _ending(outcome: Outcome) -> Status | None:
    return None if outcome.status in _BLANKED else outcome.status
