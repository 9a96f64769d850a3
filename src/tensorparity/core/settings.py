"""Settings of engines and oracles: which there are, as far as their factories say (``settings``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from .errors import UsageError


def defaults_of(*settings: type) -> dict[str, Any]:
    """What the fields of dataclasses are where nobody says otherwise."""
    found = [item for kind in settings for item in fields(kind)]
    return {item.name: item.default for item in found if item.default is not MISSING}


def accepts(factory: object, setting: str) -> bool:
    """Whether a factory has a setting of this name; one that does not say which it has accepts all."""
    known = getattr(factory, "settings", None)
    return known is None or setting in known


def check_settings(factory: object, what: str, given: Iterable[str]) -> None:
    """See to it that a factory has all of these.

    Args:
        what: the factory in a user's words, for example ``engine muffin``.

    Raises:
        UsageError: for the first that it does not have.
    """
    known = sorted(getattr(factory, "settings", None) or ())
    for name in given:
        if not accepts(factory, name):
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known) or 'none'}"
            raise UsageError(f"{what} has no setting {name!r}; {hint}")
