"""Oracles written as generators.

An oracle that needs several rounds of checks reads best as one function that *yields* the checks it wants and is sent
the answers. ``Stepwise`` makes the pure ``judge`` of it: the generator is run again from the start on the answers that
there are, or, where the memo still holds it, taken up where it stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeVar

from ..core.oracle import OUTCOMES, Answer, Check, Judged, Seen, Setup
from ..core.runner import Runner

T = TypeVar("T")

#: A part of an oracle: yields checks, is sent one answer for each of them in their order, returns what it found.
Asking = Generator[Sequence[Check], Sequence[Answer], T]
#: A whole oracle.
Steps = Asking[Judged]


class Stepwise(ABC):
    """An oracle that is written as a generator; deterministic, so that it can be run again on the same answers."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    @abstractmethod
    def steps(self, seen: Seen) -> Steps:
        """Judge one case; ``seen.answers`` and ``seen.memo`` are not for this function."""

    def judge(self, seen: Seen) -> Judged:
        progress = seen.memo if isinstance(seen.memo, _Progress) and seen.memo.fits(seen) else None
        if progress is None:
            progress = _Progress(self.steps(replace(seen, answers=(), memo=None)))
        return progress.go_on(seen.answers)


class _Progress:
    """A generator that waits for answers."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._taken = 0
        self._checks: tuple[Check, ...] | None = None

    def fits(self, seen: Seen) -> bool:
        """Whether it waits for exactly the answers that came last."""
        return self._checks is not None and len(seen.answers) == self._taken + len(self._checks)

    def go_on(self, answers: Sequence[Answer]) -> Judged:
        """Feed it what there is; what it says, or asks for next."""
        try:
            if self._checks is None:
                self._checks = tuple(next(self._steps))
            while len(answers) >= self._taken + len(self._checks):
                new = answers[self._taken : self._taken + len(self._checks)]
                self._taken += len(new)
                self._checks = tuple(self._steps.send(new))
        except StopIteration as ended:
            judged: Judged = ended.value
            return judged
        return Judged(checks=self._checks, memo=self)


def run_steps(runner: Runner, steps: Asking[T], *, fresh: bool = False) -> T:
    """Run a part of an oracle that asks for nothing but outcomes, for whoever has a runner and no examiner.

    Raises:
        ValueError: if it asks for another oracle's word.
    """
    try:
        checks = next(steps)
        while True:
            checks = steps.send(_answers(runner, checks, fresh))
    except StopIteration as ended:
        found: T = ended.value
        return found


def _answers(runner: Runner, checks: Sequence[Check], fresh: bool) -> list[Answer]:
    others = [check.oracle for check in checks if check.oracle != OUTCOMES]
    if others:
        raise ValueError(f"the oracle {others[0]!r} is the examiner's to ask")
    found: dict[int, Answer] = {}
    for deadline in dict.fromkeys(check.deadline for check in checks):
        alike = [check for check in checks if check.deadline == deadline]
        pairs = [(check.case, target) for check in alike for target in check.targets]
        outcomes = iter(runner.run_pairs(pairs, fresh=fresh, deadline_factor=deadline))
        for check in alike:
            found[id(check)] = Answer(check, {target: next(outcomes) for target in check.targets})
    return [found[id(check)] for check in checks]
