"""Which targets a run is about, and why the others are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..core.errors import UnknownTargetError, UsageError
from ..targets.catalogue import TARGETS, install_hint, spec_of
from ..targets.environments import find_environment, inventory
from ..targets.names import parse_target, split_targets


def choose_targets(text: str | None, config: Path | None = None, *, least: int = 2) -> list[str]:
    """The targets a user named, or every installed one that is part of the default set.

    Raises:
        UsageError: for an unknown target, one that is not installed, or too few of them.
    """
    if text is None:
        chosen = installed_targets()
        if len(chosen) < least:
            raise UsageError(_too_few(chosen, least))
        return chosen
    chosen = named_targets(text, config)
    if len(chosen) < least:
        raise UsageError(f"comparing needs {least} targets, --targets names {', '.join(chosen) or 'none'}")
    return chosen


def named_targets(text: str, config: Path | None = None) -> list[str]:
    names = [parse_target(part) for part in split_targets(text)]
    for name in names:
        if name.base not in TARGETS:
            raise UnknownTargetError(f"unknown target {name.base!r}; known are {_known()}")
        spec = spec_of(name)
        missing = inventory(find_environment(name.environment, config)).missing(spec)
        if missing:
            where = f" in environment {name.environment!r}" if name.environment else ""
            raise UsageError(f"{name} needs {', '.join(missing)}, not installed{where}; {install_hint(spec)}")
    return [str(name) for name in names]


def installed_targets() -> list[str]:
    here = inventory(find_environment(""))
    specs = [TARGETS.get(name) for name in TARGETS.names()]
    return [spec.name for spec in specs if spec.hunted and not here.missing(spec)]


def _known() -> str:
    """Every target, with how to install those that are not."""
    here = inventory(find_environment(""))
    shown: list[str] = []
    for name in TARGETS.names():
        spec = TARGETS.get(name)
        shown.append(f"{name} ({install_hint(spec)})" if here.missing(spec) else name)
    return ", ".join(shown)


def _too_few(chosen: Sequence[str], least: int) -> str:
    have = f"only {', '.join(chosen)} is" if chosen else "none is"
    hints = [install_hint(TARGETS.get(name)) for name in TARGETS.names() if name not in chosen]
    return f"comparing needs {least} targets, {have} here; install more, for example {hints[0]}" if hints else have
