"""Settings of engines and oracles by name: sections of ``tensorparity.toml``, and ``--set NAME.key=value``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.jsontext import Json
from ..core.settings import accepts, check_settings
from ..engines.base import ENGINES
from ..oracles.kinds import ORACLES

_Sections = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Sections:
    """By name of an engine, and of an oracle, what it is told."""

    engines: _Sections = field(default_factory=dict)
    oracles: _Sections = field(default_factory=dict)

    def engine(self, name: str) -> dict[str, Any]:
        return dict(self.engines.get(name, {}))

    def to_json(self) -> dict[str, Json]:
        """For a campaign's identity; empty where nobody set anything."""
        found = {"engine": self.engines, "oracle": self.oracles}
        return {kind: {name: dict(own) for name, own in named.items()} for kind, named in found.items() if named}


def read_sections(config: Path, given: Sequence[str] = ()) -> Sections:
    """The sections of the configuration, and what was given on the command line, which wins.

    Raises:
        UsageError: for a section or name that is no engine's and no oracle's, a setting that it does not have, or what
            is not ``NAME.key=value``.
    """
    written = _read_config(config)
    engines = {name: dict(own) for name, own in _section(written, "engine", ENGINES.names(), config).items()}
    oracles = {name: dict(own) for name, own in _section(written, "oracle", ORACLES.names(), config).items()}
    for text in given:
        name, key, value = _parse(text)
        for sections, factory in _takers(name, key):
            check_settings(factory, f"--set {text}: {name}", [key])
            (engines if sections == "engine" else oracles).setdefault(name, {})[key] = value
    for kind, registry, found in (("engine", ENGINES, engines), ("oracle", ORACLES, oracles)):
        for name, own in found.items():
            check_settings(registry.get(name), f"{config}: [{kind}.{name}]", own)
    return Sections(engines, oracles)


def _takers(name: str, key: str) -> list[tuple[str, object]]:
    """The engine and the oracle of a name that have such a setting; where none does, those that there are."""
    there: list[tuple[str, object]] = [("engine", ENGINES.get(name))] if name in ENGINES else []
    there += [("oracle", ORACLES.get(name))] if name in ORACLES else []
    return [(kind, factory) for kind, factory in there if accepts(factory, key)] or there


def _read_config(config: Path) -> dict[str, Any]:
    if not config.is_file():
        return {}
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{config} cannot be read: {error}") from error


def _section(written: Mapping[str, Any], kind: str, known: Sequence[str], config: Path) -> _Sections:
    found = written.get(kind, {})
    if not isinstance(found, dict) or not all(isinstance(own, dict) for own in found.values()):
        raise UsageError(f"{config}: [{kind}.NAME] is a table of settings. Received: {found!r}")
    for name in found:
        if name not in known:
            raise UsageError(f"{config}: [{kind}.{name}] names no {kind}; known are {', '.join(known)}")
    return found


def _parse(text: str) -> tuple[str, str, Any]:
    place, equals, value = text.partition("=")
    name, dot, key = place.strip().rpartition(".")
    if not equals or not dot or not key:
        raise UsageError(f"--set wants NAME.key=value, for example predoo.inputs=400. Received: {text!r}")
    if name not in ENGINES and name not in ORACLES:
        known = sorted({*ENGINES.names(), *ORACLES.names()})
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
        raise UsageError(f"--set {text}: {name!r} is neither an engine nor an oracle; {hint}")
    try:
        return name, key, json.loads(value)
    except ValueError:
        return name, key, value
