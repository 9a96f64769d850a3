"""Everything at once, then halves: how a pass applies many edits with few checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ...core.case import Case
from .reducer import Attempts

T = TypeVar("T")


def apply_most(attempts: Attempts, edits: Sequence[T], edited: Callable[[Case, Sequence[T]], Case | None]) -> list[T]:
    """Apply as many edits as still fail in the same way; return those that could not be applied.

    Args:
        edited: the case with all these edits, or None where they do not go together.
    """
    if not edits:
        return []
    if attempts.first([edited(attempts.case, edits)]):
        return []
    if len(edits) == 1:
        return list(edits)
    middle = len(edits) // 2
    return [
        *apply_most(attempts, edits[:middle], edited),
        *apply_most(attempts, edits[middle:], edited),
    ]
