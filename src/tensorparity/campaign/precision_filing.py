"""From searches to findings in the store, some operators at a time: what is confirmed is kept."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ..core.finding import Finding
from ..core.messages import gist
from ..core.verdict import Kind
from ..store.database import Store
from ..targets.faults import Fault
from ..targets.runner import LocalRunner
from .filing import file_findings
from .precision_endings import Ended, Filed, accuse_endings, confirmed_together
from .precision_findings import accuse, prepared
from .precision_notebook import Notebook
from .reducing import Prepared
from .scripts import end_scripts

#: Operators that are confirmed together: every library is imported once more for each such piece.
PIECE = 16
#: Seconds for all scripts of a run together: each is executed in a process that imports its library.
_SCRIPT_SECONDS = 1200.0
_SCRIPTS_AT_ONCE = 2

#: Told how many pieces of how many are done, and what comes next.
Tell = Callable[[int, int, str], None]


@dataclass(frozen=True)
class _Piece:
    notebooks: Mapping[str, list[Notebook]]
    ended: Mapping[str, list[Ended]]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys((*self.notebooks, *self.ended)))

    @property
    def violent(self) -> bool:
        """Whether something died or hung."""
        seen = [item for group in self.ended.values() for item in group]
        seen += [
            e for group in self.notebooks.values() for book in group for r in book.records.values() for e in r.ended
        ]
        return any(item.kind in (Kind.CRASH, Kind.HANG) for item in seen)

    def only(self, name: str) -> _Piece:
        return _Piece(
            {name: self.notebooks[name]} if name in self.notebooks else {},
            {name: self.ended[name]} if name in self.ended else {},
        )

    def filed(self, runner: LocalRunner) -> list[Filed]:
        notebooks = [notebook for group in self.notebooks.values() for notebook in group]
        ended = [item for group in self.ended.values() for item in group]
        return confirmed_together(runner, [*accuse(runner, notebooks), accuse_endings(runner, ended)])


@dataclass(frozen=True)
class _Scripted:
    """A finding as it is filed; ``problem`` says why it has no script, where that is an accident."""

    finding: Finding
    ready: Prepared
    problem: str = ""


@dataclass
class Filing:
    """Findings in the store.

    Args:
        undecided: what could not be judged, and why, a line each.
        left: operators whose errors were not looked at, because the run ended before.
    """

    runner: LocalRunner
    store: Store
    campaign: int
    faults: Mapping[str, Fault]
    findings: list[Finding] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    _script_seconds: float = 0.0
    _clock: threading.Lock = field(default_factory=threading.Lock)

    def file(
        self, notebooks: Sequence[Notebook], ended: Sequence[Ended], tell: Tell, go_on: Callable[[], bool]
    ) -> None:
        """Blame, reduce, confirm and file; ``go_on`` is asked before every piece but the first."""
        pieces = _pieces(notebooks, ended)
        self.left = [name for piece in pieces for name in piece.names]
        pool = ThreadPoolExecutor(_SCRIPTS_AT_ONCE)
        making: deque[tuple[Filed, Future[_Scripted]]] = deque()
        try:
            for place, piece in enumerate(pieces):
                if place and not go_on():
                    break
                tell(place, len(pieces), ", ".join(piece.names))
                if piece.violent:  # a hang is confirmed alone: limits depend on the load
                    self._keep(making, len(making))
                older = len(making)
                making.extend((item, pool.submit(self._scripted, item)) for item in self._filed(piece))
                self.left = [name for name in self.left if name not in piece.names]
                self._keep(making, older)  # made in the meantime
            self._keep(making, len(making))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            if making:  # interrupted: what is confirmed is filed, without a script
                end_scripts()
            for item, _ in making:
                self._put(item.finding, _bare(item))

    def _filed(self, piece: _Piece) -> list[Filed]:
        """What is confirmed of a piece; what cannot be judged together is judged alone."""
        try:
            return piece.filed(self.runner)
        except Exception as error:
            if len(piece.names) > 1:
                return [item for name in piece.names for item in self._filed(piece.only(name))]
            self.undecided.append(told(piece.names[0], error))
            return []

    def _keep(self, making: deque[tuple[Filed, Future[_Scripted]]], count: int) -> None:
        """File the first ones, as their scripts are made."""
        for _ in range(count):
            made = making[0][1].result()
            if made.problem:
                self.undecided.append(made.problem)
            self._put(made.finding, made.ready)
            making.popleft()

    def _scripted(self, item: Filed) -> _Scripted:
        """A finding with its script, if there is time for one."""
        if self._script_seconds >= _SCRIPT_SECONDS:
            return _Scripted(item.finding, _bare(item))
        began = time.monotonic()
        try:
            ((finding, ready),) = prepared(self.runner, [item])
            return _Scripted(finding, ready)
        except Exception as error:
            return _Scripted(item.finding, _bare(item), told(f"the script of {item.finding.id}", error))
        finally:
            with self._clock:
                self._script_seconds += time.monotonic() - began

    def _put(self, finding: Finding, ready: Prepared) -> None:
        if any(known.id == finding.id for known in self.findings):
            return  # interrupted between the store and the list
        self.findings += file_findings(self.store, self.campaign, [(finding, ready)], self.faults)


def _bare(item: Filed) -> Prepared:
    return Prepared(item.suspicion, item.suspicion)


def told(what: str, error: Exception) -> str:
    return f"{what}: {type(error).__name__}: {gist(str(error))}"


def _pieces(notebooks: Sequence[Notebook], ended: Sequence[Ended]) -> list[_Piece]:
    """A few operators each of those that something was seen of."""
    books: dict[str, list[Notebook]] = {}
    for notebook in notebooks:
        books.setdefault(notebook.task.operator.name, []).append(notebook)
    books = {name: group for name, group in books.items() if any(notebook.suspicious for notebook in group)}
    endings: dict[str, list[Ended]] = {}
    for item in ended:
        endings.setdefault(item.operator.name, []).append(item)
    names = list(dict.fromkeys((*books, *endings)))
    return [
        _Piece(
            {name: books[name] for name in names[start : start + PIECE] if name in books},
            {name: endings[name] for name in names[start : start + PIECE] if name in endings},
        )
        for start in range(0, len(names), PIECE)
    ]
