"""Compiled flavours: the same searches, packed, because compiling a call takes longer than a thousand runs of it.

Calls of one dtype go to the compiler a pack at a time (``targets/packing.py``). All searches of a pack have equally
many batches, each of one size, so that a pack is compiled once. Only the first variant is searched: defaults, and the
smallest of the operator's shapes. What is found there goes into the notebook of the other targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from ..core.case import Case
from ..core.outcome import Outcome, Status
from ..engines.predoo.algorithm import THETAS
from .precision_notebook import Notebook
from .precision_operator import WITH_SPECIALS, make_search, most_rows, small_first, special_case

#: Calls compiled as one unit.
PACK = 16
_BATCHES = 20


class PackRunner(Protocol):
    def run_packs(self, packs: Sequence[tuple[Sequence[Case], str]]) -> list[list[Outcome]]:
        """The outcomes of packs of cases, each pack on its target."""
        ...


def search_compiled(
    runner: PackRunner,
    notebooks: Sequence[Notebook],
    tell: Callable[[int, str], None],
    go_on: Callable[[], bool] = lambda: True,
) -> Iterator[Notebook]:
    """Search the compiled targets of these notebooks' tasks, and note it there; yields each notebook that is done.

    Args:
        tell: told how many are done, and of which operators the next ones are.
        go_on: asked whether to run another batch of a pack.
    """
    done = 0
    for pack in _packs(notebooks):
        if not go_on():
            return
        tell(done, ", ".join(dict.fromkeys(notebook.task.operator.name for notebook in pack)))
        _exhaust(runner, [_Member(notebook) for notebook in pack], go_on)
        done += len(pack)
        yield from pack


def _packs(notebooks: Sequence[Notebook]) -> list[list[Notebook]]:
    """By dtype: a compiler's settings are those of a dtype."""
    found: list[list[Notebook]] = []
    for dtype in dict.fromkeys(notebook.task.dtype for notebook in notebooks):
        same = [notebook for notebook in notebooks if notebook.task.dtype == dtype]
        found += [same[start : start + PACK] for start in range(0, len(same), PACK)]
    return found


class _Member:
    """One search of a pack."""

    def __init__(self, notebook: Notebook) -> None:
        task = self.task = notebook.task
        self._notebook = notebook
        shape = small_first(task.operator)[0]
        self._rows = max(1, min(task.inputs // _BATCHES, most_rows(shape)))
        rng = np.random.default_rng([task.seed, 0x00C09114, *f"{task.operator.name}/{task.dtype}".encode()])
        total = max(self._rows, len(THETAS)) * _BATCHES  # the paper's search gives no less than a whole candidate
        self._search = make_search(task, {}, shape, rng, total, fixed=True)
        self.active = [target for target in task.targets if target in task.compiled]
        self._special = task.strategy in WITH_SPECIALS
        self._left = _BATCHES

    @property
    def going(self) -> bool:
        return bool(self.active) and self._left > 0

    def ask(self) -> Case:
        if self._special:
            return special_case(self.task, self._rows)  # as many rows as all others: compiled once
        return self._search.ask(self._rows).case(self.task.operator, self.task.dtype, seed=self.task.seed)

    def give_up(self, error: Exception) -> None:
        self._notebook.give_up(error)
        self.active = []

    def feed(self, case: Case, outcomes: dict[str, Outcome]) -> None:
        """Who did not answer is not asked again."""
        if self._special:
            self._special = False
            silent = self._notebook.note_special(case, outcomes)
            # who raises may refuse NaN alone; the next batch tells
            gone = [target for target in silent if outcomes[target].status is not Status.RAISED]
            self.active = [target for target in self.active if target not in gone]
            return
        self._left -= 1
        measured, silent = self._notebook.note(case, outcomes)
        self.active = [target for target in self.active if target not in silent]
        units = {target: errors.units for target, errors in measured.items()}
        self._search.tell(units, {target: errors.place for target, errors in measured.items()})


def _exhaust(runner: PackRunner, members: Sequence[_Member], go_on: Callable[[], bool]) -> None:
    while (asking := [member for member in members if member.going]) and go_on():
        cases = [member.ask() for member in asking]
        targets = list(dict.fromkeys(target for member in asking for target in member.active))
        places = {t: [place for place, member in enumerate(asking) if t in member.active] for t in targets}
        answers = runner.run_packs([([cases[place] for place in places[target]], target) for target in targets])
        outcomes: list[dict[str, Outcome]] = [{} for _ in asking]
        for target, found in zip(targets, answers, strict=True):
            for place, outcome in zip(places[target], found, strict=True):
                outcomes[place][target] = outcome
        for member, case, own in zip(asking, cases, outcomes, strict=True):
            try:
                member.feed(case, own)
            except Exception as error:  # one search that breaks must not take the others with it
                member.give_up(error)
