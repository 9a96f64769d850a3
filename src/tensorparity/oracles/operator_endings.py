"""Calls of an operator that raised, crashed, hung or answered in a wrong form: who is accused of what."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array, dtype_named, is_floating
from ..core.case import ApiCall, Case
from ..core.finding import Class, Diagnosis
from ..core.messages import says_no_kernel, says_unsupported
from ..core.oracle import Answer, Check
from ..core.outcome import Failure, Status
from ..core.suspicion import Suspicion
from ..core.verdict import Stage
from ..operators.functions.native import native_name
from .operator_notes import Ended, Notes


@dataclass(frozen=True)
class _Accused:
    ended: Ended
    suspects: tuple[str, ...]


def accused_endings(noted: Notes) -> Generator[Sequence[Check], Sequence[Answer], list[Suspicion]]:
    """One suspicion per implementation and exception with its message; what only this dtype lacks is excused."""
    ended = {target: problem.ended for target, problem in noted.problems.items() if problem.ended}
    doubted = [target for target, item in ended.items() if _may_be_a_lack(item, noted.dtype)]
    excused: set[str] = set()
    if doubted:
        plain = _in_float32(noted.case)
        answers = yield [Check(plain, (target,)) for target in doubted]
        excused = {t for t, answer in zip(doubted, answers, strict=True) if answer.outcomes[t].completed}
    grouped: dict[tuple[str, str, str], _Accused] = {}
    for target, item in ended.items():
        if target not in excused:
            code = noted.traits.implementation(target, noted.operator.name)
            key = (code, item.exception or item.kind.value, item.message)
            known = grouped.get(key)
            suspects = (*known.suspects, target) if known else (target,)
            grouped[key] = _Accused(known.ended if known else item, suspects)
    first: set[tuple[str, str]] = set()
    found = []
    for (code, what, message), accused in grouped.items():
        second = (code, what) in first  # told apart by its message
        first.add((code, what))
        found.append(_suspicion(noted, accused, (message,) if second and message else ()))
    return found


def _may_be_a_lack(ended: Ended, dtype: str) -> bool:
    """Narrower dtypes may be missing; a wider one where the library says that it has no kernel."""
    failure = ended.outcome.failure
    if ended.form or ended.outcome.status is not Status.RAISED or dtype == "float32" or failure is None:
        return False
    return dtype != "float64" or _no_kernel(failure)


def _no_kernel(failure: Failure) -> bool:
    said = failure.message.replace("_", " ")
    return says_no_kernel(said) or says_unsupported(failure.type, said)


def _in_float32(case: Case) -> Case:
    with np.errstate(over="ignore"):
        inputs: dict[str, Array] = {
            name: array.astype(dtype_named("float32")) if is_floating(str(array.dtype)) else array
            for name, array in case.inputs.items()
        }
    return replace(case, inputs=inputs, procedure=replace(case.procedure, dtype=None))


def _suspicion(noted: Notes, item: _Accused, features: tuple[str, ...]) -> Suspicion:
    ended, target = item.ended, item.suspects[0]
    assert isinstance(noted.case.subject, ApiCall)
    diagnosis = Diagnosis(
        klass=Class.DEFECT,
        suspects=item.suspects,
        api=native_name(noted.operator, noted.traits[target].calls, noted.case),
        parameters={"dtype": noted.dtype, **noted.case.subject.kwargs},
        evidence=(f"{target} {ended.status}: {ended.told}", f"formula: {noted.operator.formula}"),
    )
    return Suspicion(
        ended.kind,
        diagnosis,
        noted.case,
        item.suspects,
        ended.exception,
        Stage.CALL,
        features,
        message=ended.message,
    )
