"""The inputs with the largest errors, whole, as case files in the store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core.case import Case
from ..core.errors import TensorParityError
from ..core.operator_errors import OperatorRun, PaperRun
from ..core.outcome import Outcome
from ..engines.predoo.notebook import Notebook
from ..engines.predoo.paper import PaperSearched
from ..store.casefile import CaseFile
from ..store.database import Store
from ..targets.faults import Fault


@dataclass
class WorstInputs:
    """Keeps them, and says where in the run's row.

    Args:
        outcomes: one of every target, for its versions.
        problem: why the last one could not be kept; the report is worth more than that.
    """

    store: Store
    campaign: int
    faults: Mapping[str, Fault]
    outcomes: Mapping[str, Outcome]
    problem: str = ""

    def of_paper(self, searched: PaperSearched) -> PaperRun:
        run = searched.run
        if searched.worst is None:
            return run
        note = f"differs by {run.largest:.3g} between {', '.join(run.dtypes)} ({run.mode}), all rounded from this input"
        names = (run.operator, "-".join(run.dtypes), run.target, run.mode, run.strategy)
        return replace(run, case=self._kept(names, run.target, searched.worst, note))

    def of_notebook(self, notebook: Notebook) -> list[OperatorRun]:
        """Its rows; an operator that is exact on a target has no worst input there."""
        found = []
        for run in notebook.runs():
            worst = notebook.records[run.target].worst
            if worst is not None and run.units > 0:
                note = f"the largest error found: {worst.units:.3g} times what rounding explains"
                names = (run.operator, run.dtype, run.target, run.strategy)
                run = replace(run, case=self._kept(names, run.target, worst.case, note))
            found.append(run)
        return found

    def _kept(self, names: Sequence[str], target: str, case: Case, note: str) -> str:
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
