"""Measure ``operator``: the largest error against the true value, on all targets at once.

All searches of a chunk advance together, a batch each, so that the workers have work while others are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..core.arrays import Array
from ..core.case import ApiCall, Case
from ..core.jsontext import Json
from ..core.messages import gist
from ..core.operator_errors import OperatorRun
from ..core.outcome import Outcome, Status
from ..core.runner import Runner
from ..engines.predoo.algorithm import GROUPS, STRATEGIES, PaperSearch, seeds_for
from ..engines.predoo.batch import Batch
from ..engines.predoo.guided import GuidedSearch
from ..generators.operator_inputs import SOURCES, fitted
from ..operators.calls.spec import Operator, Sizes
from ..operators.tolerances import tolerance_of
from ..oracles.precision import RowErrors, measure_rows, usable
from .precision_endings import ENDINGS, Ended, one_input

#: Searches that advance together.
_CHUNK = 8
_VARIANTS = 4
_BATCHES = 20
_SHOWN = 8
#: Elements of one batch at most, so that references written in Python stay quick.
_ELEMENTS = 200_000
GUIDED = "guided"
ALL_STRATEGIES = (*STRATEGIES, GUIDED, *SOURCES)


@dataclass(frozen=True, slots=True)
class Worst:
    """The input with the largest error on one target: alone, with what every target made of it."""

    target: str
    units: float
    case: Case
    outputs: Mapping[str, Array]
    others: Mapping[str, float]


@dataclass
class Record:
    """What is known of one operator in one dtype on one target."""

    units: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0
    inputs: int = 0
    reason: str = ""
    worst: Worst | None = None
    ended: list[Ended] = field(default_factory=list)
    chronicle: list[Array] = field(default_factory=list)


@dataclass(frozen=True)
class SearchTask:
    """What is searched where.

    Args:
        compiled: those of the targets that compile every new call. They are asked by a search of their own
            (``precision_compiled``), on the first variant in batches of one size.
    """

    operator: Operator
    dtype: str
    targets: tuple[str, ...]
    strategy: str = GUIDED
    inputs: int = 2000
    seed: int = 0
    compiled: frozenset[str] = frozenset()

    @property
    def eager(self) -> list[str]:
        return [target for target in self.targets if target not in self.compiled]


class Notebook:
    """What every target made of an operator in a dtype, batch after batch."""

    def __init__(self, task: SearchTask) -> None:
        self.task = task
        self.records = {target: Record() for target in task.targets}

    def note(self, case: Case, outcomes: Mapping[str, Outcome]) -> tuple[dict[str, RowErrors], list[str]]:
        """Measure the outcomes of one batch; also returns the targets that could not be measured."""
        assert isinstance(case.subject, ApiCall)
        arrays = self.task.operator.operand_arrays(case.inputs)
        with np.errstate(all="ignore"):
            truth = self.task.operator.evaluate(dict(case.subject.kwargs), arrays)
        measured: dict[str, RowErrors] = {}
        silent: list[str] = []
        for target, outcome in outcomes.items():
            problem = usable(outcome, truth, self.task.dtype)
            if problem:
                self._problem(target, outcome, problem, case)
                silent.append(target)
                continue
            measured[target] = measure_rows(outcome.outputs["0"], truth, self.task.dtype)
            self.records[target].inputs += len(measured[target])
        for target, errors in measured.items():
            self._note(target, errors, measured, outcomes, case)
        return measured, silent

    def _problem(self, target: str, outcome: Outcome, problem: str, case: Case) -> None:
        """What raised is kept; what the library has no such thing for gets a reason, and is not asked again."""
        record = self.records[target]
        told = f"{outcome.failure.type}: {gist(outcome.failure.message)}" if outcome.failure else problem
        if outcome.status in ENDINGS:
            record.ended.append(Ended(self.task.operator, self.task.dtype, outcome, case))
            record.reason = record.reason or (told if outcome.status is Status.CRASHED else "")
        elif outcome.status is Status.UNSUPPORTED and outcome.failure is not None:
            record.reason = outcome.failure.message
        else:
            record.reason = problem

    def _note(
        self,
        target: str,
        errors: RowErrors,
        measured: Mapping[str, RowErrors],
        outcomes: Mapping[str, Outcome],
        case: Case,
    ) -> None:
        record = self.records[target]
        record.chronicle.append(errors.units)
        for name in ("absolute", "relative", "ulps"):
            found = getattr(errors, name)
            finite = found[np.isfinite(found)]
            setattr(record, name, max(getattr(record, name), float(finite.max(initial=0.0))))
        row = int(np.argmax(errors.units))
        if errors.units[row] > record.units or record.worst is None:
            record.units = max(record.units, float(errors.units[row]))
            record.worst = Worst(
                target,
                float(errors.units[row]),
                one_input(self.task.operator, case, row),
                {name: outcomes[name].outputs["0"][row : row + 1].copy() for name in measured},
                {name: float(found.units[row]) for name, found in measured.items()},
            )

    def sightings(self) -> list[Ended]:
        """Every call that ended badly."""
        return [ended for record in self.records.values() for ended in record.ended]

    def runs(self) -> list[OperatorRun]:
        return [self._run(target, record) for target, record in self.records.items()]

    def _run(self, target: str, record: Record) -> OperatorRun:
        task = self.task
        tolerance = tolerance_of(target, task.dtype)
        known = OperatorRun(task.operator.name, task.operator.family, target, task.dtype, task.strategy, "measured")
        if not record.inputs:
            status, reason = _silence(record)
            return replace(known, status=status, reason=reason)
        chronicle = np.concatenate(record.chronicle)
        best = np.maximum.accumulate(np.nan_to_num(chronicle, posinf=1e30))
        assert record.worst is not None
        operand = next(item.name for item in task.operator.operands if item.stacked)
        return OperatorRun(
            known.operator,
            known.family,
            target,
            task.dtype,
            task.strategy,
            "measured",
            inputs=record.inputs,
            units=record.units,
            absolute=record.absolute,
            relative=record.relative,
            ulps=record.ulps,
            worst=tuple(record.worst.case.inputs[operand].astype(np.float64).ravel()[:_SHOWN].tolist()),
            parameters=dict(record.worst.case.subject.kwargs),  # type: ignore[union-attr]
            tolerance=(tolerance.rtol, tolerance.atol) if tolerance else None,
            tolerance_source=tolerance.source if tolerance else "",
            groups=tuple(float(part[-1]) for part in np.array_split(best, min(GROUPS, len(best)))),
        )


def _silence(record: Record) -> tuple[str, str]:
    """Why nothing was measured: status and reason."""
    if record.ended:
        ended = record.ended[0].outcome
        told = f"{ended.failure.type}: {gist(ended.failure.message)}" if ended.failure else ended.status.value
        return ended.status.value, record.reason or told
    return ("unsupported", record.reason) if record.reason else ("not run", "the budget was used up")


class _Algorithm:
    """The paper's search under the interface of the guided one; its guide is the error in units."""

    def __init__(self, task: SearchTask, shape: Sizes, rng: np.random.Generator, total: int) -> None:
        self._task = task
        self._search = PaperSearch(task.operator, shape, task.strategy, total, rng, size=seeds_for(total), vary=False)

    def ask(self, count: int) -> Batch:
        (batch,) = self._search.ask(count)
        operands = {operand.name: operand for operand in self._task.operator.operands}
        arrays = {name: fitted(array, operands[name], self._task.dtype) for name, array in batch.arrays.items()}
        return Batch(batch.params, arrays, batch.places)

    def tell(self, errors: Mapping[str, Array], places: Mapping[str, Array]) -> None:
        count = len(self._search._asked)
        worst = np.fmax.reduce(list(errors.values())) if errors else np.full(count, np.nan)
        self._search.tell(worst)


Search = GuidedSearch | _Algorithm


def make_search(
    task: SearchTask,
    params: Mapping[str, Json],
    shape: Sizes,
    rng: np.random.Generator,
    total: int,
    credit: dict[str, float] | None = None,
) -> Search:
    """The search that the task's strategy means, on one variant; ``credit`` is what earlier ones have learned."""
    if task.strategy in STRATEGIES:
        return _Algorithm(task, shape, rng, total)
    source = None if task.strategy == GUIDED else task.strategy
    return GuidedSearch(task.operator, task.dtype, shape, params, rng, source=source, credit=credit)


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

    def ask(self) -> list[tuple[Case, str]]:
        """The next batch for every target that still answers; empty at the end."""
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
            self._active = {target for target in self.task.eager if not self.notebook.records[target].reason}
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
        while len(found) < min(_VARIANTS, len(shapes)):
            found.append(({}, shapes[len(found)]))
        return found[: max(1, self.task.inputs // 20)]

    def feed(self, outcomes: Mapping[str, Outcome]) -> None:
        """What the targets made of the batch; who did not answer is not asked again with these parameters."""
        assert self._case is not None
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
    """What each search found, a chunk at a time.

    Args:
        tell: told how many are done, and of which operators the next ones are.
        go_on: asked whether to begin another chunk.
    """
    for start in range(0, len(tasks), _CHUNK):
        if not go_on():
            return
        chunk = [OperatorSearch(task) for task in tasks[start : start + _CHUNK]]
        tell(start, ", ".join(dict.fromkeys(task.operator.name for task in tasks[start : start + _CHUNK])))
        _exhaust(runner, chunk)
        yield from (search.notebook for search in chunk)


def _exhaust(runner: Runner, searches: Sequence[OperatorSearch]) -> None:
    active = list(searches)
    while active:
        asked = [(search, search.ask()) for search in active]
        active = [search for search, pairs in asked if pairs]
        outcomes = iter(runner.run_pairs([pair for _, pairs in asked for pair in pairs]))
        for search, pairs in asked:
            if pairs:
                search.feed({target: next(outcomes) for _, target in pairs})
