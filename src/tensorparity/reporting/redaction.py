"""A report without the user's data: what somebody may show to others who may not see the inputs.

Left out are the inputs with their pictures, labels and predictions, scripts (which hold inputs), single numbers that
an input gave, and folders of files. Case files in the store are complete: nobody else can replay what is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath

from ..core.evidence import Evidence
from ..core.finding import Finding
from .facts import Facts
from .words import sentences

#: Names of evidence that quotes numbers of one input.
_QUOTING = re.compile(r"(?:;\s*)?\bat \[[^\]]*\].*$", re.DOTALL)
_LEFT_OUT = "left out: the inputs, what they gave, and scripts (--redact)"


def redacted(facts: Facts) -> Facts:
    """The same answer without the data that it was found with."""
    pairs = None if facts.comparisons is None else tuple(replace(c, example=None) for c in facts.comparisons)
    return replace(
        facts,
        subject=_name_of(facts.subject),
        comparisons=pairs,
        scripts={},
        drafts={},
        engine_tables={},
        findings=tuple(_without_numbers(finding) for finding in facts.findings),
        notes=(*map(_without_folders, facts.notes), _LEFT_OUT),
    )


def _without_numbers(finding: Finding) -> Finding:
    diagnosis = finding.diagnosis
    told = [_QUOTING.sub("", line) for line in sentences(diagnosis)]
    kept = tuple(Evidence("redacted", {}, line) for line in told if line)
    return replace(finding, diagnosis=replace(diagnosis, evidence=kept, closeup=None), reproducer=None)


def _name_of(subject: str) -> str:
    """A file by its name alone."""
    return PurePath(subject).name if "/" in subject and "://" not in subject else subject


def _without_folders(note: str) -> str:
    return " ".join(_shortened(note.split(" ")))


def _shortened(parts: Iterable[str]) -> list[str]:
    return [PurePath(part).name if part.startswith(("/", "~/", "./", "../")) else part for part in parts]
