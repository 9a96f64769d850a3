"""The inputs with the largest errors, whole, as case files in the store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.case import Case
from ..core.engine import KeptCase
from ..core.errors import TensorParityError
from ..core.outcome import Outcome
from ..store.casefile import CaseFile
from ..store.database import Store
from ..targets.faults import Fault


@dataclass
class WorstInputs:
    """Keeps them, and says where.

    Args:
        outcomes: one of every target, for its versions.
        problem: why the last one could not be kept; the report is worth more than that.
    """

    store: Store
    campaign: int
    faults: Mapping[str, Fault]
    outcomes: Mapping[str, Outcome]
    problem: str = ""

    def keep(self, kept: Sequence[KeptCase]) -> dict[tuple[str, int], str]:
        """By table and row, where the file is in the store; empty where it could not be kept."""
        return {(one.table, one.row): self._keep(one.names, one.target, one.case, one.note) for one in kept}

    def _keep(self, names: Sequence[str], target: str, case: Case, note: str) -> str:
        if self.problem:
            return ""
        known, fault = self.outcomes.get(target), self.faults.get(target)
        file = CaseFile(
            case,
            (target,),
            {target: dict(known.record.versions)} if known else {},
            {target: fault.name} if fault and not fault.name.endswith(".py") else {},
            note,
        )
        try:
            return self.store.keep_case(self.campaign, _file_name(names), file)
        except TensorParityError as error:
            self.problem = str(error)
            return ""


def _file_name(names: Sequence[str]) -> str:
    """Readable, and different for targets that differ in settings only."""
    text = "-".join(names)
    readable = re.sub(r"[^A-Za-z0-9_.]+", "-", text)[:80]
    return f"worst-{readable}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
