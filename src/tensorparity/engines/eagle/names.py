"""Functions that a user names: one that no library has is a mistake, and is told from those that are never called."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...core.errors import UsageError
from ...core.near_misses import several_meant
from ...generators.api_inputs import ApiListing
from .settings import is_plain


def check_names(wanted: Sequence[str], known: Collection[str], listings: Iterable[ApiListing]) -> None:
    """Whether every name without a wildcard is that of a function.

    Args:
        known: the names of all functions.

    Raises:
        UsageError: with names that are near, for one that is not.
    """
    listed = list(listings)
    for name in wanted:
        if is_plain(name) and name not in known:
            raise UsageError(_said(name, known, listed))


def _said(name: str, known: Collection[str], listed: Sequence[ApiListing]) -> str:
    for listing in listed:
        if name in listing.excluded:
            return f"{name} is never called: {listing.excluded[name]}"
        if (listed_as := listing.canonical(name)) is not None:
            return f"{name} is listed as {listed_as}"
    libraries = ", ".join(listing.library for listing in listed)
    return f"no public function of {libraries} is called {name}{several_meant(name, known)}"
