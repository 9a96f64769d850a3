"""One call on several targets that run the same public function: values, and who refuses it.

A vote alone blames nobody. Where answers differ by more than a roundoff, every target runs the call in float64 on the
input and on inputs moved as far as rounding moves them; where two of these runs agree, what lies outside of both is
wrong, however many share the mistake. Nobody is asked about what libraries leave open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import ClassVar

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.case import Case
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.oracle import Check, Seen
from ..core.oracle import Judged as JudgedCase
from ..core.rows import one_row
from ..core.rule import Demands
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.reference.rounding import K
from .base import Asking, Steps, Stepwise
from .call_equivalence import Difference, compared
from .call_rows import Row, rows_of
from .measure.call_freedoms import freedom_of_call, lacks
from .measure.neighbourhood import Neighbourhood, in_float64, neighbourhood
from .statements import BY_REFERENCE
from .subjects import api_of, call_parameters

#: So many rows of one case are looked into.
_LOOKED_INTO = 2
#: So many targets have to answer before one that refuses the call is doubted.
_ENOUGH = 3
#: Backends compute in 32 bits by design what comes in 64, and some take what is smaller for zero.
_NARROWED = frozenset(["float64", "int64", "uint64", "complex128"])
_SMALLEST = 1.2e-38
_DEMANDS = Demands(dtypes=False)


class SameCall(Stepwise):
    """Targets against each other, judged by float64 runs of two that agree."""

    settings: ClassVar[tuple[str, ...]] = ()

    def steps(self, seen: Seen) -> Steps:
        rows = {target: rows_of(seen.case, outcome) for target, outcome in seen.own.items() if outcome.completed}
        if len(rows) < _ENOUGH:
            return JudgedCase((_verdict(seen.targets, Judgement.UNDECIDED, "too few targets answer"),))
        doubted = 0
        for place in range(seen.case.procedure.rows or 1):
            case = one_row(seen.case, place) if seen.case.procedure.rows is not None else seen.case
            answers = {target: own[place] for target, own in rows.items()}
            if _is_open(case) or doubted >= _LOOKED_INTO:
                continue
            refused = _refusal(answers)
            if refused:
                return _convicted(seen, place, [refused], f"{refused} alone raises: {_said(answers[refused])}")
            difference = _first_difference(place, answers)
            if difference is not None:
                doubted += 1
                wrong = yield from _outside_of_two(case, seen.targets, difference, answers)
                if wrong:
                    return _convicted(seen, place, wrong, difference.said, difference)
        said = "rounding, or nobody can tell, explains what differs" if doubted else "all targets agree"
        return JudgedCase((_verdict(seen.targets, Judgement.PASS, said),))


def _is_open(case: Case) -> bool:
    """The documentation leaves it open, or backends differ there by design."""
    arrays = case.inputs.values()
    if freedom_of_call(case) or any(dtype_name(array) in _NARROWED for array in arrays):
        return True
    floats = [np.abs(array.astype(np.float64)) for array in arrays if array.dtype.kind == "f"]
    return any(bool(((array > 0) & (array < _SMALLEST)).any()) for array in floats)


def _refusal(answers: Mapping[str, Row]) -> str:
    """The one target that refuses what all others take, and not for want of it."""
    refused = [target for target, row in answers.items() if row.failure is not None]
    if len(refused) != 1 or len(answers) - 1 < _ENOUGH:
        return ""
    failure = answers[refused[0]].failure
    return "" if failure is None or lacks(failure) else refused[0]


def _said(row: Row) -> str:
    return f"{row.failure.type}: {row.failure.message[:200]}" if row.failure else ""


def _first_difference(place: int, answers: Mapping[str, Row]) -> Difference | None:
    answered = [row for row in answers.values() if row.failure is None]
    found = (compared(place, answered[0], other, _DEMANDS) for other in answered[1:])
    different = (item for item in found if item is not None and item.name and item.kind is not Kind.SHAPE)
    return next((item for item in different if not _is_slight(item, answered)), None)


def _is_slight(difference: Difference, answered: Sequence[Row]) -> bool:
    """A few roundoffs of the largest number: backends compute one formula in several ways, and lose other digits."""
    arrays = [row.answers[difference.name] for row in answered if difference.name in row.answers]
    unit = max((unit_roundoff(dtype_name(array)) for array in arrays if is_floating(dtype_name(array))), default=0.0)
    return difference.relative is not None and difference.relative <= K * unit


def _outside_of_two(
    case: Case, targets: tuple[str, ...], difference: Difference, answers: Mapping[str, Row]
) -> Asking[list[str]]:
    """Who lies outside of what two float64 runs, which agree with each other, say of an output."""
    wide = in_float64(case, case.seed)
    if wide is None:
        return []
    (answer,) = yield [Check(wide, targets)]
    name = difference.name
    given = {target: row.answers[name] for target, row in answers.items() if name in row.answers}
    around = {}
    for target, outcome in answer.outcomes.items():
        values = [row.answers[name] for row in rows_of(wide, outcome) if name in row.answers]
        if len(values) == (wide.procedure.rows or 1) and dtype_name(values[0]) in ("float64", "complex128"):
            around[target] = (values[0], neighbourhood(values, dtype_name(next(iter(given.values())))))
    for one, other in combinations(around, 2):
        (first, near_first), (second, near_second) = around[one], around[other]
        if near_first is None or near_second is None or first.shape != second.shape:
            continue
        if _within(near_first, second) and _within(near_second, first):
            return [t for t, own in given.items() if not _within(near_first, own) and not _within(near_second, own)]
    return []


def _within(around: Neighbourhood, array: Array) -> bool:
    if array.shape != around.nan.shape and array.dtype.kind != "c":
        return True  # of another form: there is nothing to measure
    return float(around.excess(array).max(initial=0.0)) <= 0.0


def _convicted(seen: Seen, place: int, wrong: list[str], said: str, difference: Difference | None = None) -> JudgedCase:
    case = seen.case
    apart = difference.apart if difference is not None else None
    evidence = tuple(observed("breaks-rule", target=target, rule="other-backends", how=said) for target in wrong)
    diagnosis = Diagnosis(
        Class.DEFECT,
        tuple(wrong),
        api=api_of(case, seen.traits, tuple(wrong)),
        parameters=call_parameters(case),
        evidence=evidence,
        measure=Measure("difference", apart) if apart is not None else None,
    )
    kind = Kind.INCONSISTENCY if difference is not None else Kind.ERROR
    row = place if case.procedure.rows is not None else None
    suspicion = Suspicion(kind, diagnosis, case, seen.targets, "", Stage.CALL, oracle="same_call", row=row)
    verdict = replace(_verdict(tuple(wrong), Judgement.FAIL, said), kind=kind, judged_by=BY_REFERENCE)
    return JudgedCase((verdict,), (suspicion,))


def _verdict(targets: tuple[str, ...], judgement: Judgement, said: str) -> Verdict:
    return Verdict(judgement, targets, said, stage=Stage.CALL)
