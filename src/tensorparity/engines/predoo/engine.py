"""Predoo: the largest precision error of every operator, by search.

In a campaign of all engines it takes all operators in turn (``turns``). Told which operators to search, it runs the
searches to their end: first those of the targets that run eagerly, several under way together, a batch each; then
those of the targets that compile, a pack of them at a time; in the end the worst inputs alone, on which it is decided
who is wrong. Measure ``paper`` is the paper's own experiment (``paper``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import ClassVar, Protocol

from ...core.engine import Ask, KeptCase, Result, Standing
from ...core.jsontext import Json
from ...core.messages import gist
from ...core.oracle import Setup
from ...core.verdict import Judgement
from ...operators.functions.catalogue import OPERATORS
from ...operators.functions.spec import DTYPES
from .notebook import GUIDED, Notebook, SearchTask
from .paper import SEARCH, PaperSearching, paper_tasks, warming_asks
from .searches import CompiledSearch, OperatorSearch
from .turns import Turns
from .worst import ORACLE, Suspect, suspects_of

#: Inputs of an operator in each dtype, unless the settings say how many.
SWEEP = 400
#: How much of the time is for searching; the rest is for judging, reducing and confirming.
SEARCHING = 0.75
#: Searches that are under way together.
TOGETHER = 8
#: Calls compiled as one unit.
PACK = 16
#: Operators whose worst inputs are judged, confirmed and filed together: every library is imported once more for that.
PIECE = 16


class Phase(Enum):
    """What the engine is at; the value is what a user reads."""

    EAGER = "search"
    COMPILED = "search, compiled"
    JUDGE = "reducing and confirming"
    DONE = "done"


class Search(Protocol):
    """One search under way."""

    task: SearchTask
    notebook: Notebook

    def ask(self) -> Ask | None: ...

    def feed(self, result: Result) -> None: ...


class PredooEngine:
    """Made of a setup; its settings are ``operators``, ``dtypes``, ``strategies`` and ``inputs``.

    Without ``operators`` it takes turns without end, as a campaign of all engines wants it. With ``measure`` "paper"
    it runs Algorithm 1, and ``modes`` and ``times`` are settings, too.
    """

    settings: ClassVar[tuple[str, ...]] = (
        "operators",
        "dtypes",
        "strategies",
        "inputs",
        "measure",
        "modes",
        "times",
        "shape",
        "params",
        "size",
    )
    defaults: ClassVar[Mapping[str, object]] = {"inputs": SWEEP}

    name = "predoo"
    #: Its subject is the libraries' own functions, not only those that Keras makes of them.
    calls_functions = True
    #: The phase whose results are filed together, a piece at a time.
    filed = Phase.JUDGE.value

    def __init__(self, setup: Setup) -> None:
        self._turns = Turns(setup.seed) if "operators" not in setup.settings else None
        self._targets = setup.targets
        is_paper = not self._turns and setup.settings.get("measure") == "paper"
        self._round = 0
        self.paper = PaperSearching(paper_tasks(setup), setup.traits) if is_paper else None
        self.searching = Searching(setup) if not (self._turns or is_paper) else None
        self.ahead = TOGETHER - 1 if self.searching else 0
        self._warming = warming_asks(setup) if is_paper else []
        self._is_warm = False

    def ask(self) -> Sequence[Ask]:
        if self.paper is not None:
            warming, self._warming = self._warming, []
            return warming or self.paper.ask()
        if self.searching is not None:
            return self.searching.ask()
        assert self._turns is not None
        return [Ask(case, self._targets, (ORACLE,)) for case in self._turns.propose(self._round)]

    def tell(self, results: Sequence[Result]) -> None:
        if self.paper is not None:
            if self._is_warm:
                self.paper.tell(results)
            self._is_warm = True
            return
        if self.searching is not None:
            self.searching.tell(results)
            return
        assert self._turns is not None
        self._turns.learn(self._round, [result.verdicts for result in results])
        self._round += 1

    def tables(self) -> Mapping[str, Json]:
        """A row for each operator, dtype, strategy and target, or for each run of the paper's; none of turns.

        Beside them searches that broke off, and operators whose worst inputs were not judged (None: no one's were).
        """
        if self.paper is not None:
            rows = [searched.run.to_json() for searched in self.paper.searched]
            return {"paper": rows, "undecided": list(self.paper.problems), "unjudged": []}
        if self.searching is None:
            return {}
        books, judging = self.searching.notebooks, self.searching.phase in (Phase.JUDGE, Phase.DONE)
        return {
            "operators": [run.to_json() for book in books for run in book.runs()],
            "undecided": [book.undecided for book in books if book.undecided],
            "unjudged": self.searching.unjudged if judging else None,
        }

    def kept_cases(self) -> Sequence[KeptCase]:
        """The input with the largest error of each row."""
        if self.paper is not None:
            return [kept for row, one in enumerate(self.paper.searched) if (kept := one.kept(row)) is not None]
        if self.searching is None:
            return ()
        rows = [(book, run) for book in self.searching.notebooks for run in book.runs()]
        return [kept for row, (book, run) in enumerate(rows) if (kept := book.kept(row, run)) is not None]

    # Phases

    @property
    def phase(self) -> str:
        """The one that it is at, in a user's words."""
        if self.searching is not None:
            return self.searching.phase.value
        return SEARCH if self.paper is not None else ""

    @property
    def shares(self) -> Mapping[str, float]:
        """Of the time, for each phase: half of the searching for what compiles, where not all do."""
        if self.searching is None:
            return {SEARCH: SEARCHING} if self.paper is not None else {}
        share = SEARCHING / 2 if self.searching.has_both_kinds else SEARCHING
        return {Phase.EAGER.value: share, Phase.COMPILED.value: share, Phase.JUDGE.value: 1 - SEARCHING}

    @property
    def settled(self) -> bool:
        """Whether all that was asked of a piece of operators is told; the paper's searches are filed at the end."""
        return self.searching is not None and self.searching.piece_done

    def end_phase(self) -> bool:
        """Go on with the next phase; of the paper's runs, begin no other."""
        if self.searching is not None:
            return self.searching.cut_phase()
        return self.paper is not None and self.paper.begin_no_more()

    def standing(self) -> Standing:
        if self.searching is not None:
            return self.searching.standing()
        return self.paper.standing() if self.paper is not None else Standing()


class Searching:
    """The searches of one run, from phase to phase."""

    def __init__(self, setup: Setup) -> None:
        self.phase = Phase.EAGER
        self._left = deque(_tasks(setup))
        self.total = len(self._left)
        self.notebooks: list[Notebook] = []
        self._ready: deque[OperatorSearch] = deque()
        self._packs: deque[list[Search]] = deque()
        self._suspects: deque[list[Suspect]] = deque()
        self._flying: deque[Sequence[Search | Suspect]] = deque()
        self.has_both_kinds = any(task.eager and task.compiled for task in self._left)
        self._judged = self._to_judge = 0
        if not any(task.eager for task in self._left):
            self.end_phase()

    @property
    def done(self) -> int:
        """Searches of this phase that are over, or pieces."""
        flying = sum(len(group) for group in self._flying)
        if self.phase is Phase.EAGER:
            return self.total - len(self._left) - len(self._ready) - flying
        return self.total - sum(map(len, self._packs)) - flying

    @property
    def under_way(self) -> list[str]:
        """The operators that something was asked about."""
        members = [member for group in self._flying for member in group]
        return list(dict.fromkeys(m.operator if isinstance(m, Suspect) else m.task.operator.name for m in members))

    @property
    def piece_done(self) -> bool:
        """Whether all that was asked of a piece of operators is told."""
        retried = self._suspects and self._suspects[0][0].tries
        return self.phase is Phase.JUDGE and bool(self._judged) and not self._flying and not retried

    def standing(self) -> Standing:
        if self.phase in (Phase.EAGER, Phase.COMPILED):
            return Standing(self.phase.value, self.done, self.total, ", ".join(self.under_way))
        return Standing(Phase.JUDGE.value, self._judged, self._to_judge)

    @property
    def unjudged(self) -> list[str]:
        """Operators whose worst inputs were not all judged."""
        members = [member for group in (*self._flying, *self._suspects) for member in group]
        return list(dict.fromkeys(member.operator for member in members if isinstance(member, Suspect)))

    def ask(self) -> Sequence[Ask]:
        while self.phase is not Phase.DONE:
            asks = {Phase.EAGER: self._eager, Phase.COMPILED: self._compiled, Phase.JUDGE: self._judge}[self.phase]()
            if asks or self._flying:
                return asks
            self.end_phase()
        return ()

    def cut_phase(self) -> bool:
        """Go on with the next phase, where something of this one is left out by that; whether it is."""
        left = {
            Phase.EAGER: bool(self._left or self._ready or self._flying),
            Phase.COMPILED: bool(self._packs or self._flying),
            Phase.JUDGE: bool(self._suspects),
        }.get(self.phase, False)
        if left:
            self.end_phase()
        return left

    def end_phase(self) -> None:
        """Go on with the next phase; what is under way is still taken in."""
        if self.phase is Phase.EAGER:
            self.phase = Phase.COMPILED
            self._begin_packs()
        elif self.phase is Phase.COMPILED:
            self.phase = Phase.JUDGE
            self._packs.clear()
            self._begin_pieces()
        else:
            self.phase = Phase.DONE

    def tell(self, results: Sequence[Result]) -> None:
        group = self._flying.popleft()
        going: list[Search] = []
        weak: list[Suspect] = []
        for member, result in zip(group, results, strict=False):  # the budget may cut a round
            if isinstance(member, Suspect):
                self._judged += 1
                again = None if member.shown(result) else member.again()
                weak += [again] if again else []
            elif _feed_search(member, result):
                going.append(member)
        if weak and self.phase is Phase.JUDGE:
            self._suspects.appendleft(weak)
        if self.phase is Phase.EAGER:
            self._ready.extend(search for search in going if isinstance(search, OperatorSearch))
        elif self.phase is Phase.COMPILED and going and isinstance(going[0], CompiledSearch):
            self._packs.appendleft(going)

    # What runs eagerly

    def _eager(self) -> Sequence[Ask]:
        """A batch of one search: of a new one, as long as there are any and fewer than so many under way."""
        while True:
            if self._left and len(self._flying) + len(self._ready) < TOGETHER:
                search = OperatorSearch(self._left.popleft())
                self.notebooks.append(search.notebook)
            elif self._ready:
                search = self._ready.popleft()
            else:
                return ()
            asked = _ask_search(search)
            if asked is not None:
                self._flying.append([search])
                return [asked]

    # What compiles

    def _begin_packs(self) -> None:
        """By dtype: a compiler's settings are those of a dtype."""
        self.notebooks += [Notebook(task) for task in self._left]
        self._left.clear()
        self._ready.clear()
        compiled = [book for book in self.notebooks if book.task.compiled]
        for dtype in dict.fromkeys(book.task.dtype for book in compiled):
            same: list[Search] = [CompiledSearch(book) for book in compiled if book.task.dtype == dtype]
            self._packs += [same[start : start + PACK] for start in range(0, len(same), PACK)]

    def _compiled(self) -> Sequence[Ask]:
        """A batch of every search of a pack; the next pack is begun when it is over."""
        while self._packs and not self._flying:
            asked = [(search, ask) for search in self._packs.popleft() if (ask := _ask_search(search)) is not None]
            if asked:
                self._flying.append([search for search, _ in asked])
                return [ask for _, ask in asked]
        return ()

    # Who is wrong

    def _begin_pieces(self) -> None:
        by_operator: dict[str, list[Suspect]] = {}
        for suspect in suspects_of(self.notebooks):
            by_operator.setdefault(suspect.operator, []).append(suspect)
        groups = list(by_operator.values())
        pieces = [groups[start : start + PIECE] for start in range(0, len(groups), PIECE)]
        self._suspects.extend([suspect for group in piece for suspect in group] for piece in pieces)
        self._to_judge = sum(map(len, self._suspects))

    def _judge(self) -> Sequence[Ask]:
        if not self._suspects or self._flying:
            return ()
        piece = self._suspects.popleft()
        self._flying.append(piece)
        return [suspect.ask() for suspect in piece]


def _tasks(setup: Setup) -> list[SearchTask]:
    settings = setup.settings
    compiled = frozenset(target for target in setup.targets if setup.traits[target].compiled)
    operators = [OPERATORS.get(name) for name in settings["operators"]]
    inputs = int(settings.get("inputs", SWEEP))
    return [
        SearchTask(
            operator,
            dtype,
            setup.targets,
            strategy,
            inputs,
            setup.seed,
            compiled,
            setup.traits,
        )
        for operator in operators
        for dtype in settings.get("dtypes") or DTYPES
        if dtype in operator.dtypes
        for strategy in settings.get("strategies") or (GUIDED,)
    ]


def _ask_search(search: Search) -> Ask | None:
    """One search that breaks must not take the others with it."""
    try:
        return search.ask()
    except Exception as error:
        search.notebook.give_up(f"{type(error).__name__}: {gist(str(error))}")
        return None


def _feed_search(search: Search, result: Result) -> bool:
    """Whether the search goes on."""
    undecided = [verdict.reason for verdict in result.verdicts if verdict.judgement is Judgement.UNDECIDED]
    if undecided and not result.facts:  # it could not be examined at all
        search.notebook.give_up(undecided[0])
        return False
    try:
        search.feed(result)
    except Exception as error:
        search.notebook.give_up(f"{type(error).__name__}: {gist(str(error))}")
        return False
    return True
