"""Runner: the one thing a stage may ask to have a case run. The campaign hands it in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .case import Case
from .outcome import Outcome


class Runner(Protocol):
    """Runs cases on targets."""

    @property
    def targets(self) -> Sequence[str]:
        """Canonical names of the targets this runner has."""
        ...

    def run_pairs(
        self,
        pairs: Sequence[tuple[Case, str]],
        *,
        fresh: bool = False,
        deadline_factor: float = 1.0,
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> list[Outcome]:
        """Run each (case, target), overlapping what can overlap.

        Outcomes come back in the order asked for, whatever order they finished in. A target that
        fails gives an outcome like any other, also one whose worker cannot be started
        (``unsupported``, with the reason).

        Args:
            fresh: in new workers that are thrown away after, with every cache off.
            deadline_factor: multiplies the deadline; a hang is confirmed at ten times it.
            on_outcome: told of each outcome as it arrives, for progress only.
        """
        ...


class Pending(Protocol):
    """Cases that are under way."""

    def outcomes(self) -> list[Outcome]:
        """Wait for all of them."""
        ...

    def cancel(self) -> None:
        """Nobody will ask for the outcomes."""
        ...


@runtime_checkable
class Beginner(Protocol):
    """A runner that can send cases out without waiting for them."""

    def begin_pairs(self, pairs: Sequence[tuple[Case, str]]) -> Pending: ...


@runtime_checkable
class SharesFresh(Protocol):
    """A runner whose fresh workers can serve several steps of one look."""

    def one_fresh_set(self) -> AbstractContextManager[None]: ...


def one_fresh_set(runner: Runner) -> AbstractContextManager[None]:
    """Within it, all that is run fresh shares its workers, where the runner can do that."""
    return runner.one_fresh_set() if isinstance(runner, SharesFresh) else nullcontext()


@runtime_checkable
class RemembersHangs(Protocol):
    """A runner that answers from memory what is known to hang."""

    def asking_all(self) -> Runner: ...


def asking_all(runner: Runner) -> Runner:
    """The same runner without a memory of hangs: a call that hangs with some arguments fails otherwise with others."""
    return runner.asking_all() if isinstance(runner, RemembersHangs) else runner


@dataclass(frozen=True)
class _Ended:
    found: list[Outcome]

    def outcomes(self) -> list[Outcome]:
        return self.found

    def cancel(self) -> None:
        """There is nothing left to cancel."""


def begin(runner: Runner, pairs: Sequence[tuple[Case, str]]) -> Pending:
    """Send cases out; a runner that cannot do that runs them at once."""
    return runner.begin_pairs(pairs) if isinstance(runner, Beginner) else _Ended(runner.run_pairs(pairs))


def run_case(
    runner: Runner, case: Case, targets: Iterable[str] | None = None, *, fresh: bool = False
) -> dict[str, Outcome]:
    """One case on several targets (all by default), by target."""
    names = list(runner.targets if targets is None else targets)
    outcomes = runner.run_pairs([(case, name) for name in names], fresh=fresh)
    return dict(zip(names, outcomes, strict=True))
