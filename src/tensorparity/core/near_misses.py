"""What somebody may have meant: a name that is nearly one of those that exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(name: str, known: Iterable[str]) -> str:
    """`` (did you mean keras:torch?)``, or nothing where nothing is near."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" (did you mean {near[0]}?)" if near else ""
