"""Measure ``operator``: the largest error against the true value, on all targets at once.

Several searches are under way together, a batch each, so that the workers have work while one is measured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.jsontext import Json
from ..core.outcome import Outcome
from ..core.runner import Pending, Runner, begin
from ..engines.predoo.algorithm import STRATEGIES, PaperSearch, seeds_for
from ..engines.predoo.batch import Batch
from ..engines.predoo.guided import GuidedSearch
from ..engines.predoo.specials import special_batch
from ..generators.operator_inputs import SOURCES, fitted
from ..operators.calls.spec import DTYPES, Operator, Sizes
from .precision_notebook import GUIDED, Notebook, SearchTask

#: Searches that are under way together.
_TOGETHER = 8
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

    def ask(self, count: int) -> Batch:
        (batch,) = self._search.ask(count)
        self._own = len(batch)
        operands = {operand.name: operand for operand in self._task.operator.operands}
        arrays = {name: fitted(array, operands[name], self._task.dtype) for name, array in batch.arrays.items()}
        if not self._fixed:
            return Batch(batch.params, arrays, batch.places)
        rows = np.arange(count) % self._own
        arrays = {name: array[rows] if operands[name].stacked else array for name, array in arrays.items()}
        return Batch(batch.params, arrays, tuple(range(count)))

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

    def ask(self) -> list[tuple[Case, str]]:
        """The next batch for every target that still answers; empty at the end."""
        if self._special:
            self._case = special_case(self.task)
            return [(self._case, target) for target in self.task.eager]
        for batch in self._plan:
            self._case = batch.case(self.task.operator, self.task.dtype, seed=self.task.seed)
            asked = [target for target in self.task.targets if target in self._active]
            if asked:
                return [(self._case, target) for target in asked]
        return []

    def _batches(self) -> Iterator[Batch]:
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

    def feed(self, outcomes: Mapping[str, Outcome]) -> None:
        """What the targets made of the batch; who did not answer is not asked again with these parameters."""
        assert self._case is not None
        if self._special:
            self._special = False
            self.notebook.note_special(self._case, outcomes)
            return
        assert self._search is not None
        measured, silent = self.notebook.note(self._case, outcomes)
        self._active.difference_update(silent)
        units = {target: errors.units for target, errors in measured.items()}
        self._search.tell(units, {target: errors.place for target, errors in measured.items()})


def search_operators(
    runner: Runner,
    tasks: Sequence[SearchTask],
    tell: Callable[[int, str], None],
    go_on: Callable[[], bool] = lambda: True,
) -> Iterator[Notebook]:
    """What each search found, in the order of the tasks; when interrupted, also what those under way have found.

    Args:
        tell: told how many are done, and of which operators the next ones are.
        go_on: asked whether to run another batch.
    """
    searches = _Searches(runner, tasks)
    done = 0
    try:
        while searches.go_on(go_on()):
            for notebook in searches.ended():
                yield notebook
                done += 1
            tell(done, ", ".join(searches.under_way))
        yield from searches.ended()
    except KeyboardInterrupt:
        searches.cancel()
        yield from searches.begun()
        raise
    except BaseException:
        searches.cancel()
        raise


class _Searches:
    """Several searches under way, a batch each."""

    def __init__(self, runner: Runner, tasks: Sequence[SearchTask]) -> None:
        self._runner = runner
        self._left = deque(tasks)
        self._begun: deque[OperatorSearch] = deque()  # in the order of the tasks
        self._flying: deque[_Flight] = deque()

    def go_on(self, going: bool) -> bool:
        """Take in the next batch that was sent, and send another one if it shall go on; False when nothing is left."""
        while going and self._left and len(self._flying) < _TOGETHER:
            search = OperatorSearch(self._left.popleft())
            self._begun.append(search)
            self._flying.extend(_sent(self._runner, search))
        if not self._flying:
            return False
        flight = self._flying.popleft()
        if _fed(flight.search, flight.outcomes()) and going:
            self._flying.extend(_sent(self._runner, flight.search))
        return True

    @property
    def under_way(self) -> list[str]:
        return list(dict.fromkeys(flight.search.task.operator.name for flight in self._flying))

    def ended(self) -> Iterator[Notebook]:
        """Those that are done, and all before them."""
        under_way = [flight.search for flight in self._flying]
        while self._begun and self._begun[0] not in under_way:
            yield self._begun.popleft().notebook

    def begun(self) -> Iterator[Notebook]:
        """Whatever was begun and not told of."""
        return (search.notebook for search in self._begun)

    def cancel(self) -> None:
        for flight in self._flying:
            flight.pending.cancel()
        self._flying.clear()


@dataclass(frozen=True)
class _Flight:
    """A batch of a search, on its way to its targets."""

    search: OperatorSearch
    targets: Sequence[str]
    pending: Pending

    def outcomes(self) -> dict[str, Outcome]:
        return dict(zip(self.targets, self.pending.outcomes(), strict=True))


def _sent(runner: Runner, search: OperatorSearch) -> list[_Flight]:
    """The next batch of a search, sent out; nothing at its end."""
    pairs = _asked(search)
    return [_Flight(search, [target for _, target in pairs], begin(runner, pairs))] if pairs else []


def _asked(search: OperatorSearch) -> list[tuple[Case, str]]:
    """One search that breaks must not take the others with it."""
    try:
        return search.ask()
    except Exception as error:
        search.notebook.give_up(error)
        return []


def _fed(search: OperatorSearch, outcomes: Mapping[str, Outcome]) -> bool:
    try:
        search.feed(outcomes)
    except Exception as error:
        search.notebook.give_up(error)
        return False
    return True
