"""Oracles written as generators.

An oracle that needs several rounds of checks reads best as one function that *yields* the checks it wants and is sent
the answers. ``Stepwise`` makes the pure ``judge`` of it: the generator is run again from the start on the answers that
there are, or, where the memo still holds it, taken up where it stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import replace

from ..core.oracle import Answer, Check, Judged, Seen, Setup

#: Yields checks, is sent one answer for each of them in their order, returns what it has to say.
Steps = Generator[Sequence[Check], Sequence[Answer], Judged]


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
