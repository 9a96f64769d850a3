"""The paper's searches: Algorithm 1 on one target after another, instances of one operator in several precisions."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.engine import Ask, Result
from ...core.messages import gist
from ...core.operator_errors import PaperRun, Spread
from ...core.oracle import Setup
from ...core.traits import Traits
from ...operators.functions.catalogue import OPERATORS
from ...operators.functions.spec import Operator, Sizes
from ...oracles.precision_instances import DRAWN, ORACLE_OF_MODE, PAPER_DTYPES, narrowest_first
from .algorithm import GROUPS, STRATEGIES, PaperSearch, grouped_largest, seeds_for
from .batch import InputBatch

#: The modes that are run where none is asked for.
_MODES = ("input_mode", "op_mode")
#: Bytes of float64 inputs in one call: enough to make its overhead vanish, not so much as to leave the caches far.
_BATCH_BYTES = 8 << 20
#: Inputs whose parameters differ go into different calls: so many more are taken together, at most.
_CALLS = 6
_SHOWN = 8


@dataclass(frozen=True)
class PaperTask:
    """One run: what is searched, where and how; ``size`` seeds make a corpus, by default as many as a group."""

    operator: Operator
    target: str
    strategy: str
    mode: str
    dtypes: tuple[str, ...] = PAPER_DTYPES
    shape: Sizes = (28, 28, 3)
    inputs: int = 20_000
    seed: int = 0
    size: int | None = None
    times: int = 1

    @property
    def name(self) -> tuple[str, ...]:
        """What tells it from the other runs of one campaign."""
        return (self.operator.name, self.target, self.mode, self.strategy)

    @property
    def ordered(self) -> list[str]:
        return narrowest_first(self.dtypes)

    @property
    def most(self) -> int:
        """Inputs of one round."""
        calls = math.prod(len(parameter.valid) for parameter in self.operator.parameters)
        return max(3, _BATCH_BYTES * min(calls, _CALLS) // (8 * max(1, int(np.prod(self.shape)))))

    def search(self) -> PaperSearch:
        rng = np.random.default_rng([self.seed, 0x9EED00, *self.operator.name.encode()])
        size = self.size or seeds_for(self.inputs)
        return PaperSearch(self.operator, self.shape, self.strategy, self.inputs, rng, size=size, times=self.times)

    def ask(self, batch: InputBatch) -> Ask:
        """The batch as it was drawn; of its precisions the oracle takes care."""
        instance = None if self.mode == "op_mode" else self.ordered[-1]
        case = batch.case(self.operator, DRAWN, instance=instance)
        return Ask(case, (self.target,), (ORACLE_OF_MODE[self.mode],))


def paper_tasks(setup: Setup) -> list[PaperTask]:
    """The runs that an engine's settings mean."""
    settings = setup.settings
    return [
        PaperTask(
            operator,
            target,
            strategy,
            mode,
            tuple(settings.get("dtypes") or PAPER_DTYPES),
            operator.shapes[0],
            settings["inputs"],
            setup.seed,
            times=settings.get("times", 1),
        )
        for operator in map(OPERATORS.get, settings["operators"])
        for target in setup.targets
        for mode in settings.get("modes") or _MODES
        for strategy in settings.get("strategies") or STRATEGIES
    ]


@dataclass(frozen=True)
class PaperSearched:
    """A run, and the input with its largest error."""

    task: PaperTask
    run: PaperRun
    worst: Case | None = None


@dataclass
class _UnderWay:
    """A search, and what was told of it so far."""

    task: PaperTask
    search: PaperSearch
    batches: list[InputBatch] = field(default_factory=list)
    linf: list[Array] = field(default_factory=list)
    l1: list[Array] = field(default_factory=list)
    exceptions: dict[str, int] = field(default_factory=dict)
    library_seconds: float = 0.0
    worst: tuple[float, Case | None] = (0.0, None)

    def ask(self) -> list[Ask]:
        self.batches = self.search.ask(self.task.most)
        return [self.task.ask(batch) for batch in self.batches]

    def tell(self, results: Sequence[Result]) -> None:
        count = sum(len(batch) for batch in self.batches)
        linf, l1 = np.full(count, np.nan), np.full(count, np.nan)
        for batch, result in zip(self.batches, results, strict=True):
            self._take(batch, result, linf, l1)
        self.linf.append(linf)
        self.l1.append(l1)
        self.search.tell(l1 if self.task.strategy == "l1" else linf)

    def _take(self, batch: InputBatch, result: Result, linf: Array, l1: Array) -> None:
        target, places, facts = self.task.target, list(batch.places), result.facts
        linf[places] = result.measures["linf"][target]
        l1[places] = result.measures["l1"][target]
        for text, inputs in facts["exceptions"][target].items():
            self.exceptions[text] = self.exceptions.get(text, 0) + inputs
        self.library_seconds += facts["library_seconds"][target]
        row = facts["worst"][target]
        if row is not None and linf[places[row]] > self.worst[0]:
            self.worst = (float(linf[places[row]]), _as_drawn(self.task.operator, batch, row))


def _as_drawn(operator: Operator, batch: InputBatch, row: int) -> Case:
    """One input before it was rounded to any precision."""
    stacked = {operand.name for operand in operator.operands if operand.stacked}
    arrays = {name: array[row : row + 1].copy() if name in stacked else array for name, array in batch.arrays.items()}
    return InputBatch(batch.params, arrays, (0,)).case(operator, DRAWN)


class PaperSearching:
    """Runs of Algorithm 1, one after another.

    A run needs the errors of all that it asked before it can ask for more, and how long it takes is one of its results:
    so nothing else is under way with it.
    """

    def __init__(self, tasks: Sequence[PaperTask], traits: Traits) -> None:
        self._left = deque(tasks)
        self._traits = traits
        self._current: _UnderWay | None = None
        self.total = len(tasks)
        self.searched: list[PaperSearched] = []
        #: Runs that broke off, and why.
        self.problems: list[str] = []

    @property
    def task(self) -> PaperTask | None:
        """The run that is under way."""
        return self._current.task if self._current else None

    @property
    def following(self) -> PaperTask | None:
        """The run that comes next, where none is under way."""
        return self._left[0] if self._left and self._current is None else None

    @property
    def done(self) -> int:
        return len(self.searched) + len(self.problems)

    def ask(self) -> Sequence[Ask]:
        while self._current is not None or self._left:
            try:
                if self._current is None:
                    task = self._left.popleft()
                    self._current = _UnderWay(task, task.search())
                return self._current.ask()
            except Exception as error:  # of one search: the others' results are worth a report
                self._give_up(task if self._current is None else self._current.task, _told(error))
        return ()

    def tell(self, results: Sequence[Result]) -> None:
        current = self._current
        assert current is not None
        unknown = [verdict.reason for result in results if not result.facts for verdict in result.verdicts]
        if unknown:  # it could not be examined at all
            self._give_up(current.task, unknown[0])
            return
        try:
            current.tell(results)
            if current.search.done:
                self.searched.append(PaperSearched(current.task, self._row(current), current.worst[1]))
                self._current = None
        except Exception as error:
            self._give_up(current.task, _told(error))

    def _give_up(self, task: PaperTask, why: str) -> None:
        self.problems.append(f"{task.operator.name} on {task.target}, {task.mode}: {why}")
        self._current = None

    def _row(self, found: _UnderWay) -> PaperRun:
        """Without its seconds: an engine keeps no clock."""
        task, linf, l1 = found.task, np.concatenate(found.linf), np.concatenate(found.l1)
        tolerance = self._traits[task.target].tolerances.get(task.ordered[0])
        stacked = next(operand.name for operand in task.operator.operands if operand.stacked)
        worst = found.worst[1].inputs[stacked] if found.worst[1] else None
        return PaperRun(
            operator=task.operator.name,
            target=task.target,
            strategy=task.strategy,
            mode=task.mode,
            dtypes=tuple(task.ordered),
            shape=task.shape,
            inputs=found.search.proposed,
            largest=_largest(linf),
            largest_l1=_largest(l1),
            groups=tuple(grouped_largest(linf, GROUPS)),
            spread=spread_of(linf),
            seconds=0.0,
            library_seconds=found.library_seconds,
            refills=found.search.refills,
            times=task.times,
            exceptions=found.exceptions,
            tolerance=(tolerance.rtol, tolerance.atol) if tolerance else None,
            tolerance_source=tolerance.source if tolerance else "",
            worst=tuple(worst.ravel()[:_SHOWN].tolist()) if worst is not None else (),
        )


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {gist(str(error))}"


def _largest(errors: Array) -> float:
    return float(np.nanmax(errors)) if np.isfinite(errors).any() else 0.0


def spread_of(errors: Array) -> Spread:
    """Quartiles, and whiskers at the last value within one and a half boxes of them."""
    known = errors[np.isfinite(errors)]
    if not known.size:
        return Spread(0.0, 0.0, 0.0, 0.0, 0.0)
    first, median, third = (float(value) for value in np.percentile(known, [25, 50, 75]))
    reach = 1.5 * (third - first)
    inside = known[(known >= first - reach) & (known <= third + reach)]
    return Spread(float(inside.min()), first, median, third, float(inside.max()))


def instance_settings(dtypes: Sequence[str]) -> dict[str, Mapping[str, object]]:
    """What the oracles of the modes are told: the precisions that are compared."""
    return {name: {"dtypes": tuple(dtypes)} for name in ORACLE_OF_MODE.values()}
