"""Environments: Python interpreters with libraries in them, looked at without importing any library."""

from __future__ import annotations

import functools
import hashlib
import json
import operator
import os
import platform
import re
import shutil
import site
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.machine_settings import instruction_set
from .catalogue import ALTERNATIVES, TargetSpec

#: What a worker inherits of the host's environment variables: nothing secret, nothing that steers a library.
_INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT")

_LIST_DISTRIBUTIONS = """
import json, sys
sys.path[:] = [folder for folder in sys.path if folder]
try:
    from importlib import metadata
    found = {}
    for d in metadata.distributions():
        record = d.read_text("RECORD") or d.read_text("METADATA") or ""
        found.setdefault((d.metadata["Name"] or "").lower().replace("_", "-"), [d.version, record])
except ImportError:
    import pkg_resources
    found = {d.key: [d.version, ""] for d in pkg_resources.working_set}
import hashlib
digests = {n: [v, hashlib.sha256(r.encode()).hexdigest()] for n, (v, r) in found.items() if n}
print(json.dumps({"python": sys.version, "found": digests}))
"""

# Sizes and times of the files that the named distributions, and what they require, have installed.
# A name with "|" in it is satisfied by any of its parts.
_LOOK_AT_FILES = """
import hashlib, json, os, re, sys
sys.path[:] = [folder for folder in sys.path if folder]
IDLE = (".pyc", ".pyi", ".h", ".hpp", ".inc", ".cuh", ".c", ".cc", ".cpp", ".md", ".txt", ".proto", ".cmake")
try:
    from importlib import metadata
    def find(name):
        try:
            d = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            return None
        return d.read_text, str(d.locate_file("")), lambda: d.requires or []
except ImportError:
    import pkg_resources
    def find(name):
        d = pkg_resources.working_set.by_key.get(name.lower())
        if d is None:
            return None
        read = lambda file: d.get_metadata(file) if d.has_metadata(file) else None
        return read, d.location, lambda: [str(r) for r in d.requires()]

state, loose, seen = hashlib.sha256(), [], set()

def look(name):
    found = find(name)
    if found is None or name in seen:
        return found
    seen.add(name)
    read, root, _ = found
    record, url = read("RECORD"), json.loads(read("direct_url.json") or "{}")
    editable = url.get("dir_info", {}).get("editable")
    checkout = record is None and any(os.path.exists(os.path.join(root, f)) for f in ("setup.py", "pyproject.toml"))
    files = [line.rsplit(",", 2)[0].strip('"') for line in (record or "").splitlines()]
    if editable or checkout or any(file.startswith("__editable__") for file in files):
        loose.append(name)
    for file in files:
        if not file.endswith(IDLE):
            try:
                status = os.stat(os.path.join(root, file))
            except OSError:
                continue
            state.update(("%s %d %d;" % (file, status.st_size, status.st_mtime_ns)).encode("utf-8", "replace"))
    return found

for wanted in sys.argv[1:]:
    there = [found for found in map(look, wanted.split("|")) if found]
    if not there:
        loose.append(wanted)
    for _, _, requires in there:
        for line in requires():
            if "extra ==" not in line:
                look(re.match(r"[\\w.-]+", line).group())
print(json.dumps({"digest": state.hexdigest(), "loose": sorted(set(loose))}))
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


@dataclass(frozen=True, slots=True)
class Installed:
    """The files that a target's libraries consist of.

    Args:
        digest: of their sizes and times; a patched file changes it, whatever the version says.
        loose: distributions whose files may change without notice: editable, checked out, or not found.
    """

    digest: str
    loose: tuple[str, ...] = ()


def find_environment(name: str, config: Path | None = None) -> Environment:
    """The environment of that name; the empty name is the one we run in.

    Raises:
        UsageError: if ``tensorparity.toml`` does not declare it, or its interpreter is missing.
    """
    if not name:
        return Environment("", sys.executable)
    declared = _declared_environments(config or Path("tensorparity.toml"))
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


def _declared_environments(config: Path) -> dict[str, dict[str, object]]:
    if not config.exists():
        return {}
    try:
        entries: dict[str, dict[str, object]] = tomllib.loads(config.read_text()).get("environments", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{config} is not valid TOML: {error}") from error
    return entries


@functools.lru_cache(maxsize=16)
def _inventory(python: str, variables: tuple[tuple[str, str], ...]) -> Inventory:
    data = _ask(python, variables, _LIST_DISTRIBUTIONS)
    return Inventory(data["python"], {name: (version, digest) for name, (version, digest) in data["found"].items()})


@functools.lru_cache(maxsize=64)
def _installed_state(python: str, variables: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> Installed:
    data = _ask(python, variables, _LOOK_AT_FILES, *names)
    return Installed(data["digest"], tuple(data["loose"]))


def _ask(python: str, variables: tuple[tuple[str, str], ...], script: str, *arguments: str) -> Any:
    """What a script prints as JSON, run by an environment's interpreter."""
    listing = subprocess.run(
        [python, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env={**base_variables(), **dict(variables)},
        timeout=120,
        check=False,
    )
    if listing.returncode:
        last = (listing.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"the interpreter {python} cannot list its packages: {last}")
    return json.loads(listing.stdout)


def installed_libraries(environment: Environment, spec: TargetSpec) -> Installed:
    """The state of the libraries a target needs, NumPy among them; asked once per process."""
    names = tuple("|".join(ALTERNATIVES.get(name, (name,))) for name in dict.fromkeys((*spec.distributions, "numpy")))
    return _installed_state(environment.python, tuple(sorted(environment.variables.items())), names)


def inventory(environment: Environment) -> Inventory:
    """What is installed there, by asking its interpreter once; imports no library."""
    return _inventory(environment.python, tuple(sorted(environment.variables.items())))


def adapter_of(spec: TargetSpec, found: Inventory, where: str = "") -> str:
    """The adapter of a target in an environment that holds this.

    Args:
        where: the environment's name, for the message.

    Raises:
        UsageError: if none of the target's adapters is for what is installed there.
    """
    if isinstance(spec.adapter, str):
        return spec.adapter
    for choice in spec.adapter:
        version = found.version(choice.distribution)
        if version is not None and in_versions(version, choice.versions):
            return choice.adapter
    names = dict.fromkeys(choice.distribution for choice in spec.adapter)
    have = ", ".join(f"{name} {found.version(name) or 'not installed'}" for name in names)
    place = f" in environment {where!r}" if where else ""
    raise UsageError(f"{spec.name} has adapters for {' and '.join(map(str, spec.adapter))}; found{place}: {have}")


_BOUND = re.compile(r"(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)")


def in_versions(version: str, versions: str) -> bool:
    """Whether a version is in a range such as ``>=2.3,<3``; what follows the numbers (``rc1``) does not count.

    Raises:
        UsageError: if the range is not one.
    """
    own = _numbers(version)
    for part in filter(None, (text.strip() for text in versions.split(","))):
        bound = _BOUND.fullmatch(part)
        if bound is None:
            raise UsageError(f"{part!r} is no bound of a version; write >=3 or <4")
        if not _COMPARE[bound[1]](own, _numbers(bound[2])):
            return False
    return True


_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end: 3.0 and 3 are one."""
    leading = re.match(r"\d+(?:\.\d+)*", version.strip())
    numbers = [int(part) for part in leading[0].split(".")] if leading else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def base_variables() -> dict[str, str]:
    """What every worker gets: the inherited few, determinism, and the user's site-packages despite another HOME."""
    variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    variables["PYTHONHASHSEED"] = "0"
    variables["PYTHONUNBUFFERED"] = "1"
    variables["PYTHONUSERBASE"] = site.getuserbase()
    return variables


@functools.cache
def available_instruction_set() -> str:
    """The largest instruction set of this processor, as oneDNN calls it; empty where that is not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return instruction_set(flags)


@functools.cache
def cpu_features() -> str:
    """Model and feature flags of the processor: kernels are chosen by them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = [line for line in lines if line.startswith(("model name", "flags"))][:2]
    return hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:16]
