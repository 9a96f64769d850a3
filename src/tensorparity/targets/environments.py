"""Environments: Python interpreters with libraries in them, looked at without importing any library."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import shutil
import site
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import UsageError
from .catalogue import ALTERNATIVES, TargetSpec

#: What a worker inherits of the host's environment variables: nothing secret, nothing that steers a library.
_INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")

_LIST_DISTRIBUTIONS = """
import json, sys
try:
    from importlib import metadata
    found = {}
    for d in metadata.distributions():
        record = d.read_text("RECORD") or d.read_text("METADATA") or ""
        found[(d.metadata["Name"] or "").lower().replace("_", "-")] = [d.version, record]
except ImportError:
    import pkg_resources
    found = {d.key: [d.version, ""] for d in pkg_resources.working_set}
import hashlib
digests = {n: [v, hashlib.sha256(r.encode()).hexdigest()] for n, (v, r) in found.items() if n}
print(json.dumps({"python": sys.version, "found": digests}))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """A name, an interpreter, and variables that belong to it (``PYTHONPATH`` of a legacy Keras)."""

    name: str
    python: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is installed: version and a digest of the installed files per distribution."""

    python: str
    distributions: Mapping[str, tuple[str, str]]

    def version(self, distribution: str) -> str | None:
        found = self._find(distribution)
        return found[0] if found else None

    def _find(self, distribution: str) -> tuple[str, str] | None:
        for name in ALTERNATIVES.get(distribution, (distribution,)):
            if name.lower() in self.distributions:
                return self.distributions[name.lower()]
        return None

    def missing(self, spec: TargetSpec) -> tuple[str, ...]:
        return tuple(name for name in spec.distributions if not self._find(name))

    def versions(self, spec: TargetSpec) -> dict[str, str]:
        return {name: version for name in spec.distributions if (version := self.version(name))}

    def fingerprint(self) -> str:
        """Changes with any installed version or build, and with the interpreter."""
        text = json.dumps([self.python, sorted(self.distributions.items())])
        return hashlib.sha256(text.encode()).hexdigest()


def find_environment(name: str, config: Path | None = None) -> Environment:
    """The environment of that name; the empty name is the one we run in.

    Raises:
        UsageError: if ``tensorparity.toml`` does not declare it, or its interpreter is missing.
    """
    if not name:
        return Environment("", sys.executable)
    declared = _declared(config or Path("tensorparity.toml"))
    if name not in declared:
        known = ", ".join(sorted(declared)) or "none"
        raise UsageError(
            f"unknown environment {name!r}; declared are: {known}. "
            f'Add [environments.{name}] with python = "PATH" to tensorparity.toml'
        )
    entry = declared[name]
    python = shutil.which(os.path.expanduser(str(entry.get("python", ""))))
    if not python:
        raise UsageError(
            f"environment {name!r}: no interpreter at {entry.get('python')!r}; correct it in tensorparity.toml"
        )
    variables = entry.get("variables", {})
    if not isinstance(variables, dict):
        raise UsageError(f"environment {name!r}: variables must be a table. Received: {variables!r}")
    return Environment(name, python, {str(key): str(value) for key, value in variables.items()})


def _declared(config: Path) -> dict[str, dict[str, object]]:
    if not config.exists():
        return {}
    try:
        entries: dict[str, dict[str, object]] = tomllib.loads(config.read_text()).get("environments", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{config} is not valid TOML: {error}") from error
    return entries


@functools.lru_cache(maxsize=16)
def _inventory(python: str, variables: tuple[tuple[str, str], ...]) -> Inventory:
    listing = subprocess.run(
        [python, "-c", _LIST_DISTRIBUTIONS],
        capture_output=True,
        text=True,
        env={**base_variables(), **dict(variables)},
        timeout=120,
        check=False,
    )
    if listing.returncode:
        last = (listing.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"the interpreter {python} cannot list its packages: {last}")
    data = json.loads(listing.stdout)
    return Inventory(data["python"], {name: (version, digest) for name, (version, digest) in data["found"].items()})


def inventory(environment: Environment) -> Inventory:
    """What is installed there, by asking its interpreter once; imports no library."""
    return _inventory(environment.python, tuple(sorted(environment.variables.items())))


def base_variables() -> dict[str, str]:
    """What every worker gets: the inherited few, determinism, and the user's site-packages despite another HOME."""
    variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    variables["PYTHONHASHSEED"] = "0"
    variables["PYTHONUNBUFFERED"] = "1"
    variables["PYTHONUSERBASE"] = site.getuserbase()
    return variables


@functools.cache
def cpu_features() -> str:
    """Model and feature flags of the processor: kernels are chosen by them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = [line for line in lines if line.startswith(("model name", "flags"))][:2]
    return hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:16]
