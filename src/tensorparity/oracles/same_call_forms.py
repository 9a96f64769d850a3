"""Who refuses a call, or gives something of another shape or dtype, by what the library announces without computing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..core.arrays import dtype_name
from ..core.case import Case
from ..core.messages import gist
from ..core.oracle import Check
from ..core.outcome import Outcome, Status
from ..core.verdict import Kind
from .base import Asking
from .call_rows import Row, rows_of
from .measure.lacking import lacks
from .same_call_values import WrongTargets, first_difference
from .statements import BY_NOTHING

#: So many targets have to answer before those that refuse the call are doubted.
_ENOUGH = 3
#: How many, beside one, have to give the announced form before others are blamed for another.
_AS_ANNOUNCED = 2
_ANNOUNCED = "symbolic"
#: Backends compute in 32 bits by design what comes in 64, and some have signed whole numbers alone.
_INSTEAD = {
    "float64": {"float32"},
    "complex128": {"complex64"},
    "int64": {"int32"},
    "uint64": {"uint32", "int64", "int32"},
    "uint32": {"int64", "int32"},
    "uint16": {"int32"},
}

#: By output, in order: shape and dtype.
Forms = tuple[tuple[tuple[int, ...], str], ...]


def refused_by_few(case: Case, answers: Mapping[str, Row]) -> Asking[WrongTargets | None]:
    """Who refuses what most others compute alike and the library announces a result of, and not for want of it."""
    failures = {target: row.failure for target, row in answers.items() if row.failure is not None}
    refused = {target: failure for target, failure in failures.items() if not lacks(failure)}
    answered = {target: row for target, row in answers.items() if row.failure is None}
    if not refused or len(answered) < _ENOUGH or len(refused) >= len(answered):
        return None
    if first_difference(answered) is not None:
        return None  # of what is computed in several ways, nobody knows whether it means anything
    announced = yield from _announced(case, next(iter(answered)))
    if announced.status is Status.RAISED:
        return None
    target, failure = next(iter(refused.items()))
    said = f"{target} raises {failure.type}: {gist(failure.message, 200)}, where {', '.join(answered)} compute it"
    return WrongTargets(tuple(refused), said, Kind.ERROR, BY_NOTHING)


def by_announced_form(case: Case, answers: Mapping[str, Row]) -> Asking[WrongTargets | None]:
    """Who gives other shapes or dtypes than the library announces, where others give these."""
    forms = {target: _forms(row) for target, row in answers.items() if row.failure is None}
    if case.procedure.derivative or len(set(forms.values())) < 2:
        return None
    outcome = yield from _announced(case, next(iter(forms)))
    if not outcome.completed:
        return None
    (row,) = rows_of(case, outcome)
    right = _forms(row)
    wrong = tuple(target for target, form in forms.items() if not _is_as_announced(form, right))
    if not wrong or len(forms) - len(wrong) < _AS_ANNOUNCED:
        return None
    said = f"{wrong[0]} gives {_told(forms[wrong[0]])}; what is announced is {_told(right)}"
    return WrongTargets(wrong, said, _kind(forms[wrong[0]], right))


def _announced(case: Case, target: str) -> Asking[Outcome]:
    """What the library says of the call before it computes anything."""
    asked = Check(_symbolic(case), (target,))
    (answer,) = yield [asked]
    return answer.outcomes[target]


def _symbolic(case: Case) -> Case:
    return replace(case, procedure=replace(case.procedure, variant=_ANNOUNCED, derivative=0))


def _forms(row: Row) -> Forms:
    names = sorted(
        (name for name in row.answers if not name.startswith("gradient:")), key=lambda name: (len(name), name)
    )
    arrays = [row.answers[name] for name in names]
    return tuple((array.shape, dtype_name(array)) for array in arrays)


def _is_as_announced(given: Forms, right: Forms) -> bool:
    if [shape for shape, _ in given] != [shape for shape, _ in right]:
        return False
    return all(
        own == announced or own in _INSTEAD.get(announced, ())
        for (_, own), (_, announced) in zip(given, right, strict=True)
    )


def _kind(given: Forms, right: Forms) -> Kind:
    return Kind.SHAPE if [shape for shape, _ in given] != [shape for shape, _ in right] else Kind.DTYPE


def _told(forms: Forms) -> str:
    return "; ".join(f"{dtype} {shape}" for shape, dtype in forms)
