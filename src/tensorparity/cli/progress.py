"""Progress on standard error, from events: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from ..campaign.events import CaseDone, EngineEnded, Event, FindingFiled, Listener, Progress, WorkerDied, silent
from ..core.finding import Class, Finding
from ..reporting import words

if TYPE_CHECKING:
    from rich.console import RenderableType

#: A plain line is written when something was found, when another phase begins, and else so often, in seconds.
_EVERY = 30.0
_REFRESHES = 4.0


@dataclass
class Standing:
    """A handler of events that knows how far a run has come.

    Args:
        budget: seconds of the whole run; None where nobody set any.
        targets: whose workers are shown.
    """

    budget: float | None = None
    targets: Sequence[str] = ()
    began: float = field(default_factory=lambda: time.monotonic())
    phase: str = "starting workers"
    done: int = 0
    total: int | None = None
    detail: str = ""
    cases: int = 0
    restarts: Counter[str] = field(default_factory=Counter)
    defects: int = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.phase, self.total, self.detail = event.phase, event.total, event.detail
            self.done = event.done if event.total is None else min(event.done, event.total)
        elif isinstance(event, CaseDone):
            self.cases += 1
        elif isinstance(event, WorkerDied):
            self.restarts[event.target] += 1
        elif isinstance(event, FindingFiled):
            self.defects += event.finding.diagnosis.klass is Class.DEFECT
        elif isinstance(event, EngineEnded):
            self.phase, self.detail = f"{event.engine} ended: {event.reason}", ""

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    def clock(self) -> str:
        return words.clock(self.spent, self.budget)

    def work(self) -> str:
        """What is being done, how much of it, and how fast."""
        return words.work(self.phase, self.done, self.total, self.cases, self.spent, self.detail)

    def workers(self) -> str:
        return words.workers(self.targets, self.restarts)


def found_line(finding: Finding) -> str:
    """What was found, in one line."""
    return f"{finding.diagnosis.klass.value}: {words.title(finding)} [{finding.id}]"


@contextmanager
def progress(quiet: bool, *, budget: float | None = None, targets: Sequence[str] = ()) -> Iterator[Listener]:
    """A listener that shows what happens, or one that does not.

    Args:
        targets: of a run that takes so long that a log of it is wanted where there is no terminal.
    """
    standing = Standing(budget, targets)
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with _live(standing) as listener:
            yield listener
    else:
        yield plain_lines(standing, sys.stderr) if targets else silent


def plain_lines(standing: Standing, stream: TextIO, now: Callable[[], float] = time.monotonic) -> Listener:
    """A listener that writes a line where something has changed that a reader of a log wants to know."""
    last, phase = now(), ""

    def listen(event: Event) -> None:
        nonlocal last, phase
        standing(event)
        if isinstance(event, FindingFiled):
            _write(stream, f"[{standing.clock()}] {found_line(event.finding)}")
        elif isinstance(event, Progress) and (event.phase != phase or now() - last >= _EVERY):
            last, phase = now(), event.phase
            _write(stream, f"[{standing.clock()}] {standing.work()}")

    return listen


def _write(stream: TextIO, line: str) -> None:
    stream.write(" ".join(line.split()) + "\n")
    stream.flush()


@contextmanager
def _live(standing: Standing) -> Iterator[Listener]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)

    def view() -> RenderableType:
        lines = [f"{standing.clock()}  {standing.work()}", standing.workers()]
        return Text("\n".join(line for line in lines if line), overflow="ellipsis", no_wrap=True)

    def listen(event: Event) -> None:
        standing(event)
        if isinstance(event, FindingFiled):
            defect = event.finding.diagnosis.klass is Class.DEFECT
            console.print(Text(found_line(event.finding), "red" if defect else "dim"), soft_wrap=True)

    with Live(get_renderable=view, console=console, transient=True, refresh_per_second=_REFRESHES):
        yield listen
