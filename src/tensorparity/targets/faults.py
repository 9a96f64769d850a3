"""Planted faults: source that a worker executes once its library is imported."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ..core.errors import UsageError
from ..core.near_misses import meant
from .names import parse_target

_PACKAGE = "tensorparity.testing.faults"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault by name; its digest is part of every cache key, so that it never leaks into a clean run."""

    name: str
    source: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()


def fault_names() -> list[str]:
    files = (item.name for item in resources.files(_PACKAGE).iterdir())
    return sorted(name[:-3].replace("_", "-") for name in files if name.endswith(".py") and not name.startswith("_"))


def load_fault(text: str) -> Fault:
    """A named fault, or one in a file of the user's (``FILE.py``).

    Raises:
        UsageError: if there is neither.
    """
    if text.endswith(".py"):
        path = Path(text)
        if not path.is_file():
            raise UsageError(f"no fault file at {text!r}")
        return Fault(path.name, path.read_text())
    if text not in fault_names():
        known = ", ".join(fault_names())
        raise UsageError(f"unknown fault {text!r}{meant(text, fault_names())}; known are {known}, or give a FILE.py")
    resource = resources.files(_PACKAGE) / (text.replace("-", "_") + ".py")
    return Fault(text, resource.read_text())


def parse_faults(options: tuple[str, ...] | list[str]) -> dict[str, Fault]:
    """``TARGET=NAME`` options to faults by canonical target name.

    Raises:
        UsageError: if an option has no ``=`` outside the settings' braces, or a target twice.
    """
    faults: dict[str, Fault] = {}
    for option in options:
        target, name = _split_option(option)
        canonical = str(parse_target(target))
        if canonical in faults:
            raise UsageError(f"two faults for {canonical}; a worker takes one")
        faults[canonical] = load_fault(name)
    return faults


def _split_option(option: str) -> tuple[str, str]:
    depth = 0
    for position, character in enumerate(option):
        depth += (character == "{") - (character == "}")
        if character == "=" and depth == 0:
            return option[:position], option[position + 1 :]
    raise UsageError(f"--fault {option!r} is not TARGET=NAME or TARGET=FILE.py")
