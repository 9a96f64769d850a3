"""The texts that a store keeps beside findings: their scripts, and the drafts of upstream reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ..core.finding import Finding
from ..reporting.facts import Facts
from ..store.database import Store


def with_texts(facts: Facts, store: Store) -> Facts:
    """For reports that show them; what the run itself knows of a script counts."""
    scripts = {**_texts(facts.findings, store.script_path), **facts.scripts}
    return replace(facts, scripts=scripts, drafts=_texts(facts.findings, store.draft_path))


def _texts(findings: Iterable[Finding], path_of: Callable[[Finding], Path | None]) -> dict[str, str]:
    paths = {finding.id: path_of(finding) for finding in findings}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path and path.is_file()}
