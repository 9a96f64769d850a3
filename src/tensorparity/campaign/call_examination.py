"""One case of an operator in a hunt: run everywhere, measured against the true value, blamed, reduced, confirmed."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ..core.arrays import dtype_name
from ..core.case import ApiCall, Case
from ..core.finding import Class
from ..core.outcome import Outcome
from ..core.runner import Runner, run_case
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.calls.catalogue import operator_of
from ..operators.rounding import K
from ..oracles.special_values import special
from ..reporting.words import sentence
from .precision_endings import Filed
from .precision_findings import findings_of
from .precision_notebook import Notebook, SearchTask

#: What an infinite error counts as where a number is needed.
_MOST = 1e30


@dataclass
class ExaminedCall:
    outcomes: dict[str, Outcome]
    verdicts: list[Verdict]
    filed: list[Filed] = field(default_factory=list)


def examine_call(runner: Runner, case: Case, targets: Sequence[str], known: Collection[str] = ()) -> ExaminedCall:
    """Run an operator's case and judge it by decision 5.

    Args:
        known: findings, by their ids, that need not be confirmed again.

    Raises:
        ValueError: if the case names no operator.
    """
    assert isinstance(case.subject, ApiCall)
    operator = operator_of(case.subject.api)
    if operator is None:
        raise ValueError(f"{case.subject.api} is no operator")
    dtype = dtype_name(next(iter(case.inputs.values())))
    notebook = Notebook(SearchTask(operator, dtype, tuple(targets)))
    outcomes = run_case(runner, case, targets)
    measured = _noted(notebook, case, outcomes)
    filed = findings_of(runner, [notebook], known) if notebook.suspicious else []
    return ExaminedCall(outcomes, [_verdict(notebook, measured, filed)], filed)


def _noted(notebook: Notebook, case: Case, outcomes: dict[str, Outcome]) -> tuple[str, ...]:
    """The targets that were measured."""
    if special(list(case.inputs.values())):
        silent = notebook.note_special(case, outcomes)
        return tuple(target for target in outcomes if target not in silent)
    measured, _ = notebook.note(case, outcomes)
    return tuple(measured)


def _verdict(notebook: Notebook, measured: tuple[str, ...], filed: Sequence[Filed]) -> Verdict:
    errors = [math.inf if record.special else record.units for record in notebook.records.values()]
    largest = min(max(errors, default=0.0), _MOST)
    measure = Measure("error-in-roundoffs", largest)
    defects = [item for item in filed if item.finding.diagnosis.klass is Class.DEFECT]
    if defects:
        first = defects[0].finding
        reason = sentence(first.diagnosis.observations[0])
        return Verdict(Judgement.FAIL, tuple(notebook.records), reason, measure, K, first.kind, Stage.CALL)
    if not measured:
        reasons = sorted({record.reason for record in notebook.records.values() if record.reason})
        return Verdict(Judgement.UNDECIDED, tuple(notebook.records), "; ".join(reasons) or "no target answered")
    if any(record.special for record in notebook.records.values()):
        reason = "NaN or infinities are answered in several ways, and no implementation is known to be wrong"
        return Verdict(Judgement.UNDECIDED, tuple(notebook.records), reason, measure, K, Kind.NAN, Stage.CALL)
    kind = Kind.PRECISION if largest > K else None
    return Verdict(Judgement.PASS, measured, "within what rounding explains", measure, K, kind, Stage.CALL)
