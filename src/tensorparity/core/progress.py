"""Progress: how much of a phase is done, for whoever watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """So much of a phase is done; ``total`` is None where nobody knows."""

    phase: str
    done: int = 0
    total: int | None = None
    detail: str = ""


#: Told how far something is.
Watcher = Callable[[Progress], None]


def unwatched(progress: Progress) -> None:
    """Nobody watches."""
