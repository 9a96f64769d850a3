"""Measure ``paper``: Algorithm 1 on one target, instances of one operator in several precisions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..core.arrays import Array, Arrays, dtype_name, dtype_named
from ..core.case import ApiCall, Case
from ..core.endings import KIND_OF_ENDING
from ..core.messages import gist
from ..core.operator_errors import PaperRun, Spread
from ..core.outcome import Outcome
from ..core.rows import one_row
from ..core.runner import Pending, Runner, begin
from ..engines.predoo.algorithm import GROUPS, PaperSearch, grouped_largest, seeds_for
from ..engines.predoo.batch import InputBatch
from ..operators.functions.native import shared_inputs
from ..operators.functions.spec import Operator, Sizes
from ..oracles.measure.operator_errors import measure_instances
from ..targets.catalogue import traits_of

#: The paper's precisions; bfloat16 came later and is measured when asked for.
PAPER_DTYPES: tuple[str, ...] = ("float16", "float32", "float64")
_WIDTHS = {"bfloat16": 0, "float16": 1, "float32": 2, "float64": 3}
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
    def ordered(self) -> list[str]:
        return sorted(self.dtypes, key=lambda name: _WIDTHS[name])

    def search(self) -> PaperSearch:
        rng = np.random.default_rng([self.seed, 0x9EED00, *self.operator.name.encode()])
        size = self.size or seeds_for(self.inputs)
        return PaperSearch(self.operator, self.shape, self.strategy, self.inputs, rng, size=size, times=self.times)


@dataclass
class _PaperTally:
    linf: list[Array] = field(default_factory=list)
    l1: list[Array] = field(default_factory=list)
    exceptions: dict[str, int] = field(default_factory=dict)
    ended: dict[str, Case] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    library_seconds: float = 0.0
    worst: tuple[float, Case | None] = (0.0, None)


@dataclass(frozen=True)
class PaperSearched:
    """A run, one call of every kind of exception in it, and the input with the largest error."""

    run: PaperRun
    ended: tuple[Case, ...]
    worst: Case | None = None


def run_paper(runner: Runner, task: PaperTask) -> PaperRun:
    """Run Algorithm 1 to its end."""
    return search_paper(runner, task).run


def search_paper(runner: Runner, task: PaperTask) -> PaperSearched:
    """Run Algorithm 1 to its end; exceptions are recorded (line 31) and handed on."""
    began = time.monotonic()
    search = task.search()
    calls = math.prod(len(parameter.valid) for parameter in task.operator.parameters)
    most = max(3, _BATCH_BYTES * min(calls, _CALLS) // (8 * max(1, int(np.prod(task.shape)))))
    tally = _PaperTally()
    while not search.done:
        batches = search.ask(most)
        count = sum(len(batch) for batch in batches)
        linf, l1 = np.full(count, np.nan), np.full(count, np.nan)
        flights: list[_PaperFlight] = []
        try:
            for group in (group for batch in batches for group in _groups(task, batch)):
                flights.append(_PaperFlight(group.batch, []))
                _send(runner, task, group, tally.refused, flights[-1].sent)
            for flight in flights:
                _measure(runner, task, flight, tally, linf, l1)
        except BaseException:
            for sent in (sent for flight in flights for sent in flight.sent):
                sent.pending.cancel()
            raise
        tally.linf.append(linf)
        tally.l1.append(l1)
        search.tell(l1 if task.strategy == "l1" else linf)
    run = _result(task, search, tally, time.monotonic() - began)
    return PaperSearched(run, tuple(tally.ended.values()), tally.worst[1])


@dataclass(frozen=True)
class _Group:
    """Instances to be compared with the last of them, on the same inputs.

    Their cases are made when they are sent: rounding the inputs takes as long as most calls.
    """

    batch: InputBatch
    cases: list[Callable[[], Case]]


@dataclass(frozen=True)
class _Sent:
    """A case on its way; one that is in doubt is asked with a single input first."""

    case: Case
    pending: Pending
    doubted: bool

    def outcome(self, runner: Runner, target: str) -> Outcome:
        (found,) = self.pending.outcomes()
        return runner.run_pairs([(self.case, target)])[0] if self.doubted and found.completed else found


@dataclass(frozen=True)
class _PaperFlight:
    """A group on its way, the widest instance first: the others are held against it as they come in."""

    batch: InputBatch
    sent: list[_Sent]


def _groups(task: PaperTask, batch: InputBatch) -> list[_Group]:
    """One case per precision: of the input, of the operator, or of the operator on the input as it is.

    In ``input_mode`` the widest instance gets the input in every precision. A narrower one rounds a wider input
    itself, so that its answers differ only where rounding twice is not rounding once: those inputs are run too.
    """
    operator, ordered = task.operator, task.ordered
    if task.mode == "op_mode":
        return [_Group(batch, [partial(batch.case, operator, dtype) for dtype in ordered])]
    if task.mode == "default":
        return [_Group(batch, [partial(batch.case, operator, ordered[-1], instance=dtype) for dtype in ordered])]
    groups = [_Group(batch, [partial(batch.case, operator, dtype, instance=ordered[-1]) for dtype in ordered])]
    for position, narrow in enumerate(ordered):
        for between in ordered[position + 1 : -1]:
            twice = _rounded_twice(task, batch, narrow, between)
            if twice is not None:
                once, again = (partial(part.case, operator, narrow) for part in twice)
                groups.append(_Group(twice[0], [again, once]))
    return groups


def _rounded_twice(
    task: PaperTask, batch: InputBatch, narrow: str, between: str
) -> tuple[InputBatch, InputBatch] | None:
    """The inputs that come out differently if they are rounded to ``between`` on the way, both ways."""
    stacked = [operand.name for operand in task.operator.operands if operand.stacked]
    differ = np.zeros(len(batch), bool)
    again = dict(batch.arrays)
    for name in stacked:
        array = batch.arrays[name]
        with np.errstate(over="ignore"):
            again[name] = array.astype(dtype_named(between)).astype(np.float64)
            other = again[name].astype(dtype_named(narrow)) != array.astype(dtype_named(narrow))
        differ |= other.reshape(len(batch), -1).any(axis=1)
    if not differ.any():
        return None
    places = tuple(np.array(batch.places)[differ].tolist())

    def part(arrays: Arrays) -> InputBatch:
        kept = {name: array[differ] if name in stacked else array for name, array in arrays.items()}
        return InputBatch(batch.params, kept, places)

    return part(batch.arrays), part(again)


def _send(runner: Runner, task: PaperTask, group: _Group, refused: set[str], sent: list[_Sent]) -> None:
    """Send a group's cases out, each as soon as it is made, and note them.

    What has refused these parameters in this dtype is first asked with one input of the batch: most often it still
    refuses, and a batch need not be carried over for that.
    """
    for make in reversed(group.cases):
        case = make()
        doubted = _question(case) in refused
        asked = one_row(case, 0, shared_inputs(case)) if doubted else case
        sent.append(_Sent(case, begin(runner, [(asked, task.target)]), doubted))


def _question(case: Case) -> str:
    """Parameters and dtypes: what a refusal depends on."""
    assert isinstance(case.subject, ApiCall)
    dtypes = [dtype_name(array) for array in case.inputs.values()]
    return repr((sorted(case.subject.kwargs.items()), dtypes, case.procedure.dtype))


def _measure(runner: Runner, task: PaperTask, flight: _PaperFlight, tally: _PaperTally, linf: Array, l1: Array) -> None:
    """The largest difference of any instance from the widest that answers; exceptions are recorded."""
    batch = flight.batch
    places = np.array(batch.places)
    widest: Array | None = None
    for sent in flight.sent:
        outcome = sent.outcome(runner, task.target)
        tally.library_seconds += outcome.cpu_seconds
        if not outcome.completed:
            tally.refused.add(_question(sent.case))
            _record_outcome(task, sent.case, outcome, len(batch), tally)
        elif widest is None:
            widest = outcome.outputs["0"].astype(np.float64)
        else:
            errors = measure_instances(outcome.outputs["0"], widest)
            linf[places] = np.fmax(linf[places], errors.linf)
            l1[places] = np.fmax(l1[places], errors.l1)
    at = int(np.nanargmax(linf[places])) if np.isfinite(linf[places]).any() else None
    if at is not None and linf[places][at] > tally.worst[0]:
        tally.worst = (float(linf[places][at]), _as_drawn(task.operator, batch, at))


def _as_drawn(operator: Operator, batch: InputBatch, row: int) -> Case:
    """One input before it was rounded to any precision."""
    stacked = {operand.name for operand in operator.operands if operand.stacked}
    arrays = {name: array[row : row + 1].copy() if name in stacked else array for name, array in batch.arrays.items()}
    return InputBatch(batch.params, arrays, (0,)).case(operator, "float64")


def _record_outcome(task: PaperTask, case: Case, outcome: Outcome, inputs: int, tally: _PaperTally) -> None:
    told = outcome.failure
    text = f"{told.type}: {gist(told.message)}" if told else outcome.status.value
    tally.exceptions[text] = tally.exceptions.get(text, 0) + inputs
    if outcome.status in KIND_OF_ENDING:
        dtype = case.procedure.dtype or dtype_name(next(iter(case.inputs.values())))
        tally.ended.setdefault(f"{dtype} {text}", case)


def _result(task: PaperTask, search: PaperSearch, tally: _PaperTally, seconds: float) -> PaperRun:
    linf, l1 = np.concatenate(tally.linf), np.concatenate(tally.l1)
    narrowest = task.ordered[0]
    tolerance = traits_of([task.target])[task.target].tolerances.get(narrowest)
    stacked = next(operand.name for operand in task.operator.operands if operand.stacked)
    worst = tally.worst[1].inputs[stacked] if tally.worst[1] else None
    return PaperRun(
        operator=task.operator.name,
        target=task.target,
        strategy=task.strategy,
        mode=task.mode,
        dtypes=tuple(task.ordered),
        shape=task.shape,
        inputs=search.proposed,
        largest=float(np.nanmax(linf)) if np.isfinite(linf).any() else 0.0,
        largest_l1=float(np.nanmax(l1)) if np.isfinite(l1).any() else 0.0,
        groups=tuple(grouped_largest(linf, GROUPS)),
        spread=spread_of(linf),
        seconds=seconds,
        library_seconds=tally.library_seconds,
        refills=search.refills,
        times=task.times,
        exceptions=tally.exceptions,
        tolerance=(tolerance.rtol, tolerance.atol) if tolerance else None,
        tolerance_source=tolerance.source if tolerance else "",
        worst=tuple(worst.ravel()[:_SHOWN].tolist()) if worst is not None else (),
    )


def spread_of(errors: Array) -> Spread:
    """Quartiles, and whiskers at the last value within one and a half boxes of them."""
    known = errors[np.isfinite(errors)]
    if not known.size:
        return Spread(0.0, 0.0, 0.0, 0.0, 0.0)
    first, median, third = (float(value) for value in np.percentile(known, [25, 50, 75]))
    reach = 1.5 * (third - first)
    inside = known[(known >= first - reach) & (known <= third + reach)]
    return Spread(float(inside.min()), first, median, third, float(inside.max()))
