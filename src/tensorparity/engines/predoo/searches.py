"""The searches for the largest error of one operator in one dtype, against the true value, on all targets at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.engine import Ask, Result
from ...core.jsontext import Json
from ...core.outcome import Status
from ...generators.inputs.operators import SOURCES, fit_to_operand
from ...operators.functions.spec import DTYPES, Operator, Sizes
from .algorithm import STRATEGIES, THETAS, PaperSearch, seeds_for
from .batch import InputBatch
from .guided import GuidedSearch
from .notebook import GUIDED, Notebook, SearchTask
from .specials import special_batch

#: Who measures a batch; nobody is blamed for numbers before the search has come to its end.
ORACLE = "operator_errors"
_VARIANTS = 4
#: With so many inputs every shape is tried.
_PLENTY = 2_000
_BATCHES = 20
#: Inputs with NaN and infinities: as many as two operands have combinations.
_SPECIALS = 24
#: Elements of one batch at most, so that references written in Python stay quick.
_ELEMENTS = 200_000
ALL_STRATEGIES = (*STRATEGIES, GUIDED, *SOURCES)
#: The strategies that also ask what becomes of NaN and infinities.
WITH_SPECIALS = (GUIDED, "special")


class _Algorithm:
    """The paper's search under the interface of the guided one; its guide is the error in units.

    Args:
        fixed: every batch has as many rows as were asked for. The search itself gives what its corpus holds: the rows
            are repeated, or cut, and what is cut is not told of.
    """

    def __init__(self, task: SearchTask, search: PaperSearch, fixed: bool) -> None:
        self._task, self._search, self._fixed = task, search, fixed
        self._own = 0

    def ask(self, count: int) -> InputBatch:
        (batch,) = self._search.ask(count)
        self._own = len(batch)
        operands = {operand.name: operand for operand in self._task.operator.operands}
        arrays = {name: fit_to_operand(array, operands[name], self._task.dtype) for name, array in batch.arrays.items()}
        if not self._fixed:
            return InputBatch(batch.params, arrays, batch.places)
        rows = np.arange(count) % self._own
        arrays = {name: array[rows] if operands[name].stacked else array for name, array in arrays.items()}
        return InputBatch(batch.params, arrays, tuple(range(count)))

    def tell(self, errors: Mapping[str, Array], places: Mapping[str, Array]) -> None:
        worst = np.full(self._own, np.nan)
        if errors:
            found = np.fmax.reduce(list(errors.values()))[: self._own]
            worst[: len(found)] = found
        self._search.tell(worst)


Search = GuidedSearch | _Algorithm


def make_search(
    task: SearchTask,
    params: Mapping[str, Json],
    shape: Sizes,
    rng: np.random.Generator,
    total: int,
    credit: dict[str, float] | None = None,
    *,
    fixed: bool = False,
) -> Search:
    """The search that the task's strategy means, on one variant.

    Args:
        credit: what earlier ones have learned.
        fixed: every batch has as many inputs as are asked for.
    """
    if task.strategy in STRATEGIES:
        size = seeds_for(total)
        search = PaperSearch(task.operator, shape, task.strategy, total, rng, size=size, params=params)
        return _Algorithm(task, search, fixed)
    source = None if task.strategy == GUIDED else task.strategy
    return GuidedSearch(task.operator, task.dtype, shape, params, rng, source=source, credit=credit)


def special_case(task: SearchTask, rows: int = _SPECIALS) -> Case:
    """The defaults, in the smallest shape, on NaN and infinities."""
    rng = np.random.default_rng([task.seed, 0x0059EC1A, *f"{task.operator.name}/{task.dtype}".encode()])
    shape = small_first(task.operator)[0]
    batch = special_batch(task.operator, task.dtype, shape, {}, rng, rows)
    return batch.case(task.operator, task.dtype, seed=task.seed)


def small_first(operator: Operator) -> list[Sizes]:
    """The shapes of an operator; images of the paper's size come last, for an error shows in small ones as well."""
    return sorted(operator.shapes, key=lambda shape: int(np.prod(shape)) > 512)


def most_rows(shape: Sizes) -> int:
    """Inputs of that shape in one batch, at most."""
    return max(1, _ELEMENTS // max(1, int(np.prod(shape))))


class OperatorSearch:
    """One operator in one dtype: variants of parameters and shapes one after another, each with a search of its own."""

    def __init__(self, task: SearchTask) -> None:
        self.task = task
        self.notebook = Notebook(task)
        self._rng = np.random.default_rng([task.seed, 0x09E4A704, *f"{task.operator.name}/{task.dtype}".encode()])
        self._plan = self._batches()
        self._case: Case | None = None
        self._search: Search | None = None
        self._credit: dict[str, float] = {}
        self._active: set[str] = set()
        self._special = task.strategy in WITH_SPECIALS

    def ask(self) -> Ask | None:
        """The next batch for every target that still answers; nothing at the end."""
        if self._special:
            return self._asked(special_case(self.task), self.task.eager)
        for batch in self._plan:
            case = batch.case(self.task.operator, self.task.dtype, seed=self.task.seed)
            asked = [target for target in self.task.targets if target in self._active]
            if asked:
                return self._asked(case, asked)
        return None

    def _asked(self, case: Case, targets: Sequence[str]) -> Ask | None:
        self._case = case
        return Ask(case, tuple(targets), (ORACLE,)) if targets else None

    def _batches(self) -> Iterator[InputBatch]:
        variants = self._variants()
        share = max(1, self.task.inputs // len(variants))
        for params, shape in variants:
            self._active = {target for target in self.task.eager if not self.notebook.records[target].crashed}
            self._search = make_search(self.task, params, shape, self._rng, share, self._credit)
            step = min(-(-share // max(1, _BATCHES // len(variants))), most_rows(shape))
            left = share
            while left > 0:  # the paper's search may give less than was asked: its corpus ends
                batch = self._search.ask(min(step, left))
                left -= len(batch)
                yield batch

    def _variants(self) -> list[tuple[dict[str, Json], Sizes]]:
        """The default, then every other value of every parameter once, the rest drawn; every shape in turn."""
        operator, rng = self.task.operator, self._rng
        shapes = small_first(operator)
        found: list[tuple[dict[str, Json], Sizes]] = [({}, shapes[0])]
        others = [(item, value) for item in operator.parameters for value in item.valid if value != item.default]
        for item, value in others:
            drawn = {other.name: other.valid[rng.integers(len(other.valid))] for other in operator.parameters}
            params = operator.significant({**drawn, item.name: value})
            found.append((params, shapes[len(found) % len(shapes)]))
        most = len(shapes) if self.task.inputs >= _PLENTY else _VARIANTS
        first = DTYPES.index(self.task.dtype)  # where not all are tried, each dtype tries others
        turned = [shapes[0], *(shapes[1 + (first + place) % (len(shapes) - 1)] for place in range(len(shapes) - 1))]
        while len(found) < min(most, len(shapes)):
            found.append(({}, turned[len(found)]))
        return found[: max(1, self.task.inputs // 20)]

    def feed(self, result: Result) -> None:
        """What the targets made of the batch; who did not answer is not asked again with these parameters."""
        assert self._case is not None
        if self._special:
            self._special = False
            self.notebook.note_special(self._case, result)
            return
        assert self._search is not None
        measured, silent = self.notebook.note(self._case, result)
        self._active.difference_update(silent)
        units = {target: errors.units for target, errors in measured.items()}
        self._search.tell(units, {target: errors.place for target, errors in measured.items()})


class CompiledSearch:
    """The same for the compiled targets of a task: the first variant alone, in batches of one size.

    Compiling a call takes longer than a thousand runs of it, and calls of one dtype are compiled a pack at a time
    (``targets/packing``): all searches of a pack have equally many batches, so that a pack is compiled once. Only the
    defaults are searched, in the smallest of the operator's shapes.
    """

    def __init__(self, notebook: Notebook) -> None:
        task = self.task = notebook.task
        self.notebook = notebook
        shape = small_first(task.operator)[0]
        self._rows = max(1, min(task.inputs // _BATCHES, most_rows(shape)))
        rng = np.random.default_rng([task.seed, 0x00C09114, *f"{task.operator.name}/{task.dtype}".encode()])
        total = max(self._rows, len(THETAS)) * _BATCHES  # the paper's search gives no less than a whole candidate
        self._search = make_search(task, {}, shape, rng, total, fixed=True)
        self._active = [target for target in task.targets if target in task.compiled]
        self._special = task.strategy in WITH_SPECIALS
        self._left = _BATCHES
        self._case: Case | None = None

    def ask(self) -> Ask | None:
        """The next batch for every compiled target that still answers; nothing at the end."""
        if not self._active or self._left <= 0:
            return None
        if self._special:
            self._case = special_case(self.task, self._rows)  # as many rows as all others: compiled once
        else:
            self._case = self._search.ask(self._rows).case(self.task.operator, self.task.dtype, seed=self.task.seed)
        return Ask(self._case, tuple(self._active), (ORACLE,))

    def feed(self, result: Result) -> None:
        """Who did not answer is not asked again."""
        assert self._case is not None
        if self._special:
            self._special = False
            silent = self.notebook.note_special(self._case, result)
            # who raises may refuse NaN alone; the next batch tells
            gone = [target for target in silent if result.endings.get(target) is not Status.RAISED]
            self._active = [target for target in self._active if target not in gone]
            return
        self._left -= 1
        measured, silent = self.notebook.note(self._case, result)
        self._active = [target for target in self._active if target not in silent]
        units = {target: errors.units for target, errors in measured.items()}
        self._search.tell(units, {target: errors.place for target, errors in measured.items()})
