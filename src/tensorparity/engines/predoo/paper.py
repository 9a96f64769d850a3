"""The paper's searches: Algorithm 1 on one target after another, instances of one operator in several precisions."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.engine import Ask, KeptCase, Result, Standing
from ...core.errors import UsageError
from ...core.jsontext import Json
from ...core.messages import gist
from ...core.operator_errors import PaperRun, Spread
from ...core.oracle import OUTCOMES, Setup
from ...core.traits import Traits
from ...operators.functions.catalogue import OPERATORS
from ...operators.functions.spec import Operator, Sizes
from ...oracles.precision_instances import DRAWN, ORACLE_OF_MODE, PAPER_DTYPES, narrowest_first
from .algorithm import GROUPS, STRATEGIES, PaperSearch, grouped_largest, seeds_for
from .batch import InputBatch

#: Its only phase, in a user's words.
SEARCH = "search"
#: Inputs that a worker is started with: that is no part of anybody's time.
_WARMING = 3
#: The modes that are run where none is asked for.
_MODES = ("input_mode", "op_mode")
#: Bytes of float64 inputs in one call: enough to make its overhead vanish, not so much as to leave the caches far.
_BATCH_BYTES = 8 << 20
#: Inputs whose parameters differ go into different calls: so many more are taken together, at most.
_CALLS = 6
_SHOWN = 8


@dataclass(frozen=True)
class PaperTask:
    """One run: what is searched, where and how; ``size`` seeds make a corpus, by default as many as a group.

    ``params`` are those of the operator's other parameters that are given; the others are drawn.
    """

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
    params: Mapping[str, Json] = field(default_factory=dict)

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
        return PaperSearch(
            self.operator,
            self.shape,
            self.strategy,
            self.inputs,
            rng,
            size=size,
            times=self.times,
            given=self.params,
        )

    def ask(self, batch: InputBatch) -> Ask:
        """The batch as it was drawn; of its precisions the oracle takes care."""
        instance = None if self.mode == "op_mode" else self.ordered[-1]
        case = batch.case(self.operator, DRAWN, instance=instance)
        return Ask(case, (self.target,), (ORACLE_OF_MODE[self.mode],), part="/".join(self.name))


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
            shape_for(operator, settings.get("shape")),
            settings["inputs"],
            setup.seed,
            settings.get("size"),
            settings.get("times", 1),
            params_for(operator, settings.get("params") or {}),
        )
        for operator in map(OPERATORS.get, settings["operators"])
        for target in setup.targets
        for mode in settings.get("modes") or _MODES
        for strategy in settings.get("strategies") or STRATEGIES
    ]


def shape_for(operator: Operator, shape: Sequence[int] | None) -> Sizes:
    """The shape that a user wants, or the operator's own; a leading 1, the paper's batch, is left out.

    Raises:
        UsageError: if the operator takes no inputs of so many axes.
    """
    if not shape:
        return operator.shapes[0]
    ranks = {len(known) for known in operator.shapes}
    wanted = tuple(shape)
    if len(wanted) not in ranks and wanted[0] == 1 and len(wanted) - 1 in ranks:
        wanted = wanted[1:]
    if len(wanted) not in ranks and operator.resolve is not None or min(wanted) < 1 or max(ranks) < len(wanted):
        axes = " or ".join(map(str, sorted(ranks)))
        raise UsageError(f"{operator.name} takes inputs of {axes} axes. Received: {','.join(map(str, shape))}")
    return wanted


def params_for(operator: Operator, given: Mapping[str, Json]) -> dict[str, Json]:
    """Those of the parameters that a user gave which this operator has."""
    names = {parameter.name for parameter in operator.parameters}
    return {name: value for name, value in given.items() if name in names}


def warming_asks(setup: Setup) -> list[Ask]:
    """A few inputs of the first operator for each target; they are nobody's result."""
    first = OPERATORS.get(setup.settings["operators"][0])
    tasks = [
        PaperTask(first, target, "random", "op_mode", shape=first.shapes[0], inputs=_WARMING)
        for target in setup.targets
    ]
    cases = [(task.target, batch.case(first, DRAWN)) for task in tasks for batch in task.search().ask(task.inputs)]
    return [Ask(case, (target,), (OUTCOMES,), counted=False) for target, case in cases]


@dataclass(frozen=True)
class PaperSearched:
    """A run, and the input with its largest error."""

    task: PaperTask
    run: PaperRun
    worst: Case | None = None

    def kept(self, row: int) -> KeptCase | None:
        """The worst input, as it was drawn."""
        run = self.run
        if self.worst is None:
            return None
        note = f"differs by {run.largest:.3g} between {', '.join(run.dtypes)} ({run.mode}), all rounded from this input"
        names = (run.operator, "-".join(run.dtypes), run.target, run.mode, run.strategy)
        return KeptCase("paper", row, run.target, self.worst, names, note)


@dataclass
class _UnderWay:
    """A search, and what was told of it so far."""

    task: PaperTask
    search: PaperSearch
    batches: list[InputBatch] = field(default_factory=list)
    linf: list[Array] = field(default_factory=list)
    l1: list[Array] = field(default_factory=list)
    mean: list[Array] = field(default_factory=list)
    allowed: float | None = None
    overflows: int = 0
    exceptions: dict[str, int] = field(default_factory=dict)
    library_seconds: float = 0.0
    worst: tuple[float, Case | None] = (0.0, None)

    def ask(self) -> list[Ask]:
        self.batches = self.search.ask(self.task.most)
        return [self.task.ask(batch) for batch in self.batches]

    def tell(self, results: Sequence[Result]) -> None:
        count = sum(len(batch) for batch in self.batches)
        linf, l1, mean = (np.full(count, np.nan) for _ in range(3))
        for batch, result in zip(self.batches, results, strict=True):
            self._take(batch, result, linf, l1)
            mean[list(batch.places)] = result.measures["mean"][self.task.target]
        self.linf.append(linf)
        self.l1.append(l1)
        self.mean.append(mean)
        self.search.tell(l1 if self.task.strategy == "l1" else linf)

    def _take(self, batch: InputBatch, result: Result, linf: Array, l1: Array) -> None:
        target, places, facts = self.task.target, list(batch.places), result.facts
        linf[places] = result.measures["linf"][target]
        l1[places] = result.measures["l1"][target]
        for text, inputs in facts["exceptions"][target].items():
            self.exceptions[text] = self.exceptions.get(text, 0) + inputs
        self.overflows += facts["overflows"][target]
        if facts["allowed"][target] is not None:
            self.allowed = max(self.allowed or 0.0, facts["allowed"][target])
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

    def standing(self) -> Standing:
        """How many runs are done, and which one is under way."""
        task, done = self._current.task if self._current else None, len(self.searched) + len(self.problems)
        detail = f"{task.operator.name}, {task.mode}, {task.strategy}" if task else ""
        return Standing(SEARCH, done, self.total, detail)

    def begin_no_more(self) -> bool:
        """Leave out the runs that are not under way; whether there are any."""
        left = bool(self._left)
        self._left.clear()
        return left

    def ask(self) -> Sequence[Ask]:
        while self._current is not None or self._left:
            try:
                if self._current is None:
                    task = self._left.popleft()
                    self._current = _UnderWay(task, task.search())
                return self._current.ask()
            except Exception as error:  # of one search: the others' results are worth a report
                self._give_up(task if self._current is None else self._current.task, _error_in_words(error))
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
            self._give_up(current.task, _error_in_words(error))

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
            largest_mean=_largest(np.concatenate(found.mean)),
            overflows=found.overflows,
            over_tolerance=found.allowed,
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


def _error_in_words(error: Exception) -> str:
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
