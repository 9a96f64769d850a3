"""Known differences: what a user has looked at and accepted, kept in ``tensorparity.toml``.

An entry names a signature, or a pattern of signatures (``inconsistency/*/AveragePooling2D/*``), with a reason.
It does not fail a run and is counted in the report. One that has expired counts no longer; one that matches
nothing any more is called out, for the defect may be fixed: but only by a run that would have met it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.finding import Finding
from ..core.traits import base_name
from ..oracles.documentation import DOCUMENTATION

CONFIG = Path("tensorparity.toml")
_TABLE = "known"
#: The place of the layer in a signature.
_LAYER = 2


@dataclass(frozen=True, slots=True)
class KnownCoverage:
    """What a run looked at.

    Args:
        families: whose shared code the targets run.
        model: what was compared, in the user's words.
        layers: types of the layers that were looked at one by one.
        everything: it is a search, or the sum of many runs: whatever is known should be met again.
    """

    targets: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()
    model: str = ""
    layers: frozenset[str] = frozenset()
    everything: bool = False


def _covers(run: KnownCoverage, suspect: str) -> bool:
    """A target is covered by itself, in whatever environment; shared code by any target of its family."""
    bases, suspect = set(map(base_name, run.targets)), suspect.removesuffix(DOCUMENTATION)
    return len(bases) > 1 if suspect.startswith("exporter:") else suspect in bases | run.families


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One accepted difference; either ``signature`` or ``pattern`` is given.

    Args:
        targets: who was suspected when it was accepted; ``model`` what was compared then. Neither is matched: they
            say which runs would meet it again.
    """

    reason: str
    signature: str = ""
    pattern: str = ""
    link: str = ""
    expires: date | None = None
    targets: tuple[str, ...] = ()
    model: str = ""

    @property
    def name(self) -> str:
        return self.signature or self.pattern

    def matches(self, finding: Finding) -> bool:
        """By its own signature, or one that it has under another name through which users meet it.

        A pattern for one API does not accept all of a cluster; the cluster's name does.
        """
        named = any(map(self.names, (finding.signature, *finding.aliases)))
        return named or bool(self.signature and self.signature == finding.cluster)

    def names(self, signature: str) -> bool:
        return signature == self.signature if self.signature else fnmatchcase(signature, self.pattern)

    @property
    def layer(self) -> str:
        """The layer or operator that it names; empty where it is one of many."""
        parts = self.name.split("/")
        named = parts[_LAYER] if len(parts) > _LAYER else ""
        return "" if set(named) & set("*?[") or named == "unknown" else named

    def is_met_by(self, run: KnownCoverage) -> bool:
        """Whether a run would have met it, were it still there."""
        if run.everything:
            return True
        if self.targets and not any(_covers(run, target) for target in self.targets):
            return False
        if self.model:
            return Path(self.model).name == Path(run.model).name
        return not self.layer or self.layer in run.layers

    def expired(self, today: date) -> bool:
        return self.expires is not None and today > self.expires

    def to_toml(self) -> str:
        """The entry as it stands in the file."""
        lines = [f"[[{_TABLE}]]"]
        for key in ("signature", "pattern", "reason", "link"):
            if getattr(self, key):
                lines.append(f"{key} = {json.dumps(getattr(self, key), ensure_ascii=False)}")
        if self.model:
            lines.append(f"model = {json.dumps(self.model, ensure_ascii=False)}")
        if self.targets:
            lines.append(f"targets = {json.dumps(list(self.targets), ensure_ascii=False)}")
        if self.expires:
            lines.append(f"expires = {self.expires.isoformat()}")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Matched:
    """What a run made of an entry: the findings it accepts, and what is to be said of it."""

    entry: KnownDifference
    findings: tuple[str, ...]
    expired: bool = False


def read_known(config: Path = CONFIG) -> list[KnownDifference]:
    """The entries of the file; none where there is no file.

    Raises:
        UsageError: if it is not TOML, or an entry is not one.
    """
    if not config.exists():
        return []
    try:
        entries = tomllib.loads(config.read_text(encoding="utf-8")).get(_TABLE, [])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{config} is not valid TOML: {error}") from error
    if not isinstance(entries, list):
        raise UsageError(f"{config}: expected [[{_TABLE}]] tables. Received: {type(entries).__name__}")
    return [_entry(config, entry) for entry in entries]


def _entry(config: Path, entry: Any) -> KnownDifference:
    if not isinstance(entry, Mapping) or bool(entry.get("signature")) == bool(entry.get("pattern")):
        raise UsageError(f"{config}: a [[{_TABLE}]] entry has either a signature or a pattern. Received: {entry!r}")
    if not entry.get("reason"):
        raise UsageError(f"{config}: the known difference {entry.get('signature') or entry['pattern']} has no reason")
    expires = entry.get("expires")
    if isinstance(expires, datetime):
        expires = expires.date()
    if expires is not None and not isinstance(expires, date):
        raise UsageError(f"{config}: expires is a date such as 2027-01-31. Received: {expires!r}")
    texts = {key: str(entry.get(key, "")) for key in ("signature", "pattern", "reason", "link", "model")}
    targets = entry.get("targets", [])
    if not isinstance(targets, list):
        raise UsageError(f'{config}: targets is a list such as ["keras:torch"]. Received: {targets!r}')
    return KnownDifference(**texts, expires=expires, targets=tuple(map(str, targets)))


def add_known(entry: KnownDifference, config: Path = CONFIG) -> None:
    """Append an entry; what stands in the file already stays as it is.

    Raises:
        UsageError: if the file is not TOML, has the entry already, or cannot be written.
    """
    if any(known.name == entry.name for known in read_known(config)):
        raise UsageError(f"{entry.name} is in {config} already")
    before = config.read_text(encoding="utf-8") if config.exists() else ""
    gap = "" if not before else ("\n" if before.endswith("\n") else "\n\n")
    try:
        config.write_text(before + gap + entry.to_toml(), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {config}: {error.strerror}") from error


def match_known(entries: Iterable[KnownDifference], findings: Iterable[Finding], today: date) -> list[Matched]:
    """What each entry accepts; one that has expired accepts nothing."""
    findings = list(findings)
    matched = []
    for entry in entries:
        expired = entry.expired(today)
        ids = [finding.id for finding in findings if entry.matches(finding)]
        matched.append(Matched(entry, () if expired else tuple(ids), expired))
    return matched
