"""The driver: passes propose, checks decide, the order says what counts as progress.

How to write a pass. It is a function of a case and an ``Attempts``; it returns the simplest case it got to.
It never runs anything: ``attempts.first([...])`` takes candidates, drops those that are not strictly simpler
than the case (so every accepted step descends, and no pass can loop), answers known ones from memory, sends
the others in one round trip and returns the simplest one that still fails *in the same way*: with the key of
decision 8. A check costs seconds, so:

- try the trivial value first, and everything at once before anything alone; split only on a refusal;
- leave out what the catalogue already knows to be impossible: ``editing.refit`` returns None for it;
- candidates that do not depend on each other's answer go into one call;
- do not loop to a fixed point inside of a pass: the driver repeats all passes while they succeed.

A candidate that fails in another way is not lost: it comes back as ``also``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...core.case import Case
from ...core.finding import Class
from ...core.oracle import Judged
from ...core.rule import with_counterpart
from ...core.signature import Key, same_key
from ...core.suspicion import Suspicion
from ...oracles.measure.domains import outside
from ...oracles.measure.labels import unfit
from .order import elements, node_count, simpler, sort_key

#: Examines cases, all in one round trip; answers in their order.
Check = Callable[[Sequence[Case]], Sequence[Judged]]


#: So many times beyond its threshold a reduced case stays, where the first one was twice as far: what is just beyond it
#: here may be within it on the next machine.
CLEAR = 4.0


@dataclass(frozen=True)
class ReductionBudget:
    """When to be content with what there is."""

    checks: int = 120
    seconds: float = 120.0


@dataclass(frozen=True)
class ReductionStep:
    """One accepted reduction, for whoever wants to know how it went."""

    name: str
    checks: int
    nodes: int
    elements: int


@dataclass(frozen=True)
class Reduction:
    """The simplest case found, and what it cost.

    Args:
        suspicion: of the reduced case; None where the original did not fail when it was checked.
        also: other defects met on the way, one per key.
        stopped: why it ended before it was done; empty where it was.
    """

    original: Case
    case: Case
    suspicion: Suspicion | None
    checks: int
    seconds: float
    also: tuple[Suspicion, ...] = ()
    steps: tuple[ReductionStep, ...] = ()
    stopped: str = ""

    @property
    def descended(self) -> bool:
        return simpler(self.case, self.original)


class _Spent(Exception):  # noqa: N818 (not an error: the budget is used up)
    """No check is left."""


@dataclass
class Attempts:
    """The only way for a pass to have a case checked; keeps count, memory and the best case."""

    check: Check
    key: Key
    best: Suspicion
    budget: ReductionBudget = field(default_factory=ReductionBudget)
    began: float = field(default_factory=time.monotonic)
    checks: int = 0
    also: dict[Key, Suspicion] = field(default_factory=dict)
    known: dict[str, Judged] = field(default_factory=dict)
    klass: Class = Class.DEFECT
    #: How many times beyond its threshold a case has to be.
    clear: float = 0.0

    def __post_init__(self) -> None:
        self.clear = min(CLEAR, margin(self.best) / 2.0)

    @property
    def case(self) -> Case:
        return self.best.case

    def first(self, candidates: Iterable[Case | None]) -> Case | None:
        """The simplest candidate that still fails in the same way, or None; it is the best case from then on."""
        renewed = [with_counterpart(case) for case in candidates if case is not None]
        simple = [case for case in renewed if case is not None and simpler(case, self.case)]
        astray = bool(outside(self.case))  # from the start: then there is nothing to stay within
        offered = {case.digest: case for case in simple if not unfit(case) and (astray or not outside(case))}
        wanted = sorted(offered.values(), key=sort_key)
        self._run([case for case in wanted if case.digest not in self.known])
        for case in wanted:
            found = self.known[case.digest].of_key(self.key, self.klass) if case.digest in self.known else None
            if found and margin(found) >= self.clear:
                self.best = found
                return case
        return None

    def _run(self, cases: Sequence[Case]) -> None:
        if not cases:
            return
        left = self.budget.checks - self.checks
        if left <= 0 or time.monotonic() - self.began > self.budget.seconds:
            raise _Spent
        cases = cases[:left]
        self.checks += len(cases)
        for case, checked in zip(cases, self.check(cases), strict=True):
            self.known[case.digest] = checked
            for other in checked.suspicions:
                if other.diagnosis.klass is Class.DEFECT and not same_key(self.key, other.key):
                    self.also.setdefault(other.key, other)


Pass = Callable[[Attempts], None]


def margin(suspicion: Suspicion) -> float:
    """How many times what is allowed was measured; infinite where nothing is measured or allowed."""
    measure, allowed = suspicion.diagnosis.measure, suspicion.diagnosis.threshold
    if measure is None or not allowed or math.isnan(measure.value):
        return math.inf
    return measure.value / allowed


def reduce_case(
    case: Case,
    key: Key,
    check: Check,
    passes: Sequence[tuple[str, Pass]],
    budget: ReductionBudget,
    klass: Class = Class.DEFECT,
) -> Reduction:
    """Reduce ``case`` as far as the passes and the budget go, with ``key`` and class held fixed."""
    began = time.monotonic()
    (first,) = check([case])
    found = first.of_key(key, klass)
    if found is None:
        why = first.undecided or "it did not fail in the same way when it was checked alone"
        also = tuple(s for s in first.suspicions if s.diagnosis.klass is Class.DEFECT)
        return Reduction(case, case, None, 1, time.monotonic() - began, also, stopped=why)
    attempts = Attempts(check, key, found, budget, began, checks=1, known={case.digest: first}, klass=klass)
    others = [s for s in first.suspicions if s.diagnosis.klass is Class.DEFECT and not same_key(key, s.key)]
    attempts.also.update({s.key: s for s in others})
    steps, stopped = _run_passes(attempts, passes)
    seconds = time.monotonic() - began
    also = tuple(attempts.also.values())
    return Reduction(case, attempts.case, attempts.best, attempts.checks, seconds, also, tuple(steps), stopped)


def _run_passes(attempts: Attempts, passes: Sequence[tuple[str, Pass]]) -> tuple[list[ReductionStep], str]:
    """All passes, again and again while one of them gets anywhere."""
    steps: list[ReductionStep] = []
    settled: dict[str, str] = {}
    try:
        while True:
            start = attempts.case.digest
            for name, run in passes:
                before = attempts.case.digest
                if settled.get(name) == before:
                    continue  # it has seen this very case and could do nothing
                run(attempts)
                if attempts.case.digest == before:
                    settled[name] = before
                else:
                    steps.append(
                        ReductionStep(name, attempts.checks, node_count(attempts.case), elements(attempts.case))
                    )
            if attempts.case.digest == start:
                return steps, ""
    except _Spent:
        return steps, f"the budget of {attempts.budget.checks} checks or {attempts.budget.seconds:.0f} s was used up"
