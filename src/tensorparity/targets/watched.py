"""A runner that keeps an eye on what its targets say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.case import Case
from ..core.outcome import Outcome
from ..core.runner import Pending, begin
from .runner import LocalRunner


@dataclass(frozen=True)
class _Remembered:
    """Cases under way whose outcomes are to be remembered."""

    pending: Pending
    remember: Callable[[Sequence[Outcome]], None]

    def outcomes(self) -> list[Outcome]:
        found = self.pending.outcomes()
        self.remember(found)
        return found

    def cancel(self) -> None:
        self.pending.cancel()


class Watched:
    """A runner that remembers one outcome per target, for the versions in the report; nothing is cached.

    A search never asks the same thing twice, and its arrays are large.
    """

    def __init__(self, runner: LocalRunner, outcomes: dict[str, Outcome]) -> None:
        self._runner, self._outcomes = runner, outcomes

    @property
    def targets(self) -> Sequence[str]:
        return self._runner.targets

    def run_pairs(self, pairs, **options):  # type: ignore[no-untyped-def]
        found = self._runner.run_pairs(pairs, **options)
        self._remember(found)
        return found

    def begin_pairs(self, pairs: Sequence[tuple[Case, str]]) -> _Remembered:
        return _Remembered(begin(self._runner, pairs), self._remember)

    def _remember(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            known = self._outcomes.get(outcome.target)
            if known is None or (outcome.completed and not known.completed):
                self._outcomes[outcome.target] = _without_arrays(outcome)


def _without_arrays(outcome: Outcome) -> Outcome:
    return Outcome(
        outcome.target, outcome.status, failure=outcome.failure, seconds=outcome.seconds, record=outcome.record
    )
