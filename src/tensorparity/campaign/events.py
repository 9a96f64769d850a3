"""What happens while it happens. The campaign tells; the command line shows, or does not."""

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


Listener = Callable[[Progress], None]


def silent(event: Progress) -> None:
    """Nobody listens."""
