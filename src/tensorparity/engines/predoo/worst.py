"""The worst inputs of all searches, asked for once more, alone: there it is decided who is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...core.engine import Ask, Result
from ...core.rows import repeated
from ...operators.functions.native import shared_inputs
from ...operators.reference.rounding import K
from .notebook import Notebook, Worst

#: Who blames.
ORACLE = "precision"
#: Copies of an input that nobody may answer in two ways: more than a vector of any instruction set, and no multiple.
_UNEVEN = 67
#: How often an input is repeated until it shows what it did among others: some kernels treat the body of a long array
#: in another way than its end.
_COPIES = (1, 16, 64)


@dataclass(frozen=True)
class Suspect:
    """An input on which a target is beyond the bound; ``is_special`` where it holds NaN or infinities.

    With ``is_free`` it is one where several answers are right, and each target has to keep to one of them.
    """

    operator: str
    worst: Worst
    targets: tuple[str, ...]
    is_special: bool
    tries: int = 0
    is_free: bool = False

    def ask(self) -> Ask:
        case = self.worst.case
        copies = _UNEVEN if self.is_free else _COPIES[self.tries]
        return Ask(repeated(case, copies, shared_inputs(case)), self.targets, (ORACLE,))

    def shown(self, result: Result) -> bool:
        """Whether it is beyond the bound again."""
        target = self.worst.target
        if self.is_free:
            return True
        if self.is_special:
            return target in result.facts.get("special", {})
        return max(result.measures.get("units", {}).get(target, ()), default=0.0) > K

    def again(self) -> Suspect | None:
        """The same with more copies of the input, if there are more to be had."""
        more = self.tries + 1
        return Suspect(self.operator, self.worst, self.targets, self.is_special, more) if more < len(_COPIES) else None


def suspects_of(notebooks: Sequence[Notebook]) -> list[Suspect]:
    """Of every operator, dtype and target the input with the largest error, and the one with NaN or infinities."""
    return [*_beyond(notebooks), *_free(notebooks)]


def _free(notebooks: Sequence[Notebook]) -> Iterator[Suspect]:
    for notebook in notebooks:
        answering = tuple(target for target, record in notebook.records.items() if record.inputs)
        for case in notebook.free if answering else ():
            worst = Worst(answering[0], 0.0, case, answering)
            yield Suspect(notebook.task.operator.name, worst, answering, is_special=True, is_free=True)


def _beyond(notebooks: Sequence[Notebook]) -> list[Suspect]:
    return [
        Suspect(notebook.task.operator.name, worst, _targets_that_answered(notebook, worst), is_special)
        for notebook in notebooks
        for record in notebook.records.values()
        for worst, is_special in ((record.worst if record.units > K else None, False), (record.special, True))
        if worst is not None
    ]


def _targets_that_answered(notebook: Notebook, worst: Worst) -> tuple[str, ...]:
    """Those that answered; compiled targets are searched apart, so the others bear witness now."""
    if worst.target not in notebook.task.compiled:
        return worst.answered
    eager = [target for target in notebook.task.eager if notebook.records[target].inputs]
    return tuple(dict.fromkeys((*worst.answered, *eager)))
