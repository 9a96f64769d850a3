"""One of ONNX's operators on several runtimes: by what its node test expects, and by ONNX's own evaluator.

The documentation decides. A target is wrong where another one agrees with what the documentation says and it does not:
with what a node test expects, or, on other numbers, with the evaluator. The evaluator, too, is wrong where it alone
differs from what is expected; on other numbers, where what ONNX says the operator to be in other words (its body, or
its conversion to the newest version), run by the evaluator itself, gives what all others give.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ..core.arrays import dtype_name, is_floating, unit_roundoff
from ..core.call import ApiCall
from ..core.case import Case
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.onnx.operators import domain_and_type
from ..core.oracle import Check, Judged, Seen
from ..core.outcome import Outcome
from ..core.rows import one_row
from ..core.rule import Demands
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.functions.peers import ONNX
from ..operators.reference.rounding import K
from .base import Asking, Steps, Stepwise
from .call_rows import Row, is_limit, rows_of
from .measure.call_freedoms import freedom_of_call
from .measure.lacking import lacks
from .row_difference import Difference, compared
from .statements import BY_NOTHING, BY_REFERENCE
from .subjects import api_of, call_parameters

#: What the node tests themselves allow, of the largest number.
_RELATIVE = 1e-3
_RULE = "other-runtimes"
#: How what a node test expects is called among those who answer.
_EXPECTED = "the node test"
_ENOUGH = 2
#: With this argument an operator draws.
_DRAWING = ("training_mode",)


@dataclass(frozen=True)
class _Wrong:
    target: str
    said: str
    kind: Kind
    row: int | None = None
    apart: float | None = None
    judged_by: str = BY_REFERENCE


class SameOperator(Stepwise):
    """Values, shapes, dtypes and exceptions of one operator."""

    settings: ClassVar[tuple[str, ...]] = ()

    def steps(self, seen: Seen) -> Steps:
        rows = {t: rows_of(seen.case, outcome) for t, outcome in seen.own.items() if not _is_lacking(outcome)}
        if len(rows) + bool(seen.case.labels) < _ENOUGH:
            return Judged((_verdict(seen.targets, Judgement.UNDECIDED, "too few runtimes have the operator"),))
        stacked = seen.case.procedure.rows is not None
        for place in range(seen.case.procedure.rows or 1):
            case = one_row(seen.case, place) if stacked else seen.case
            answers = {target: own[place] for target, own in rows.items()}
            wrong = yield from _wrong(case, answers, seen.traits)
            if wrong is not None:
                return _convicted(seen, replace(wrong, row=place if stacked else None))
        agreed = _agreed(seen.case, rows)
        said = "all agree" if agreed else "nobody can tell who is wrong"
        return Judged((_verdict(seen.targets, Judgement.PASS if agreed else Judgement.UNDECIDED, said),))


def _is_lacking(outcome: Outcome) -> bool:
    return is_limit(outcome) or (outcome.failure is not None and lacks(outcome.failure))


def _agreed(case: Case, rows: Mapping[str, list[Row]]) -> bool:
    first, *others = rows.values()
    return all(_difference(a, b) is None for own in others for a, b in zip(first, own, strict=True) if not a.failure)


def _wrong(case: Case, answers: Mapping[str, Row], traits: Traits) -> Asking[_Wrong | None]:
    if _is_open(case):
        return None
    given = {target: row for target, row in answers.items() if row.failure is None}
    if case.labels:
        expected = Row({name: case.labels[name] for name in case.labels})
        return _outvoted(given, expected, _EXPECTED) or _refuser(answers, given, expected)
    defining = [target for target in given if traits.implementation(target) == ONNX]
    for evaluator in defining:
        others = {target: row for target, row in given.items() if target != evaluator}
        found = _outvoted(others, given[evaluator], evaluator)
        if found is not None:
            return found
        if len(others) >= _ENOUGH and all(_difference(row, given[evaluator]) for row in others.values()):
            return (yield from _by_other_words(case, evaluator, given))
    return _refuser(answers, given, None)


def _is_open(case: Case) -> bool:
    """The documentation leaves it open; operators have words without anything between them in their names."""
    call = case.subject
    assert isinstance(call, ApiCall)
    _, op = domain_and_type(call.api)
    names = {op, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op)}
    if any(name in call.arrays() or call.kwargs.get(name) for name in _DRAWING):
        return True
    return any(freedom_of_call(replace(case, subject=replace(call, api=f"{ONNX}.{name}"))) for name in names)


def _difference(a: Row, b: Row) -> Difference | None:
    """What differs by more than the node tests allow."""
    found = compared(None, a, b, Demands())
    if found is None or found.relative is None or found.apart is None:
        return found
    units = (unit_roundoff(name) for name in map(dtype_name, a.answers.values()) if is_floating(name))
    return None if found.relative <= max(_RELATIVE, K * max(units, default=0.0)) and found.name else found


def _outvoted(given: Mapping[str, Row], right: Row, whose: str) -> _Wrong | None:
    """The one who differs from what the documentation says, where another does not."""
    differences = {target: _difference(row, right) for target, row in given.items()}
    agreeing = [target for target, difference in differences.items() if difference is None]
    for target, difference in differences.items():
        if difference is not None and agreeing:
            said = f"{difference.said}; {agreeing[0]} gives what {whose} says"
            return _Wrong(target, said, difference.kind, apart=difference.apart)
    return None


def _refuser(answers: Mapping[str, Row], given: Mapping[str, Row], expected: Row | None) -> _Wrong | None:
    """Who raises where the others answer alike, and not for want of the operator."""
    right = expected if expected is not None else next(iter(given.values()), None)
    if right is None or len(given) + (expected is not None) < _ENOUGH:
        return None
    if any(_difference(row, right) for row in given.values()):
        return None
    for target, row in answers.items():
        if row.failure is not None and not lacks(row.failure):
            failure = row.failure
            said = f"{target} alone raises {failure.type}: {failure.message[:200]}"
            return _Wrong(target, said, Kind.ERROR, judged_by=BY_NOTHING)
    return None


#: How ONNX says an operator otherwise: by a run in that way, in words.
_OTHERWISE = {"body": "the operator's own body", "converted": "ONNX's own conversion to the newest version"}


def _by_other_words(case: Case, evaluator: str, given: Mapping[str, Row]) -> Asking[_Wrong | None]:
    """The evaluator is wrong where it says of other words for the operator what everybody else says of it."""
    others = [own for target, own in given.items() if target != evaluator]
    for way, words in _OTHERWISE.items():
        otherwise = replace(case, procedure=replace(case.procedure, variant=way))
        (answer,) = yield [Check(otherwise, (evaluator,))]
        (row,) = rows_of(otherwise, answer.outcomes[evaluator])
        if row.failure is not None or any(_difference(own, row) for own in others):
            continue
        difference = _difference(given[evaluator], row)
        if difference is not None:
            said = f"{difference.said}; {words} gives what all others do"
            return _Wrong(evaluator, said, difference.kind, apart=difference.apart)
    return None


def _convicted(seen: Seen, wrong: _Wrong) -> Judged:
    case, target = seen.case, wrong.target
    diagnosis = Diagnosis(
        Class.DEFECT,
        (target,),
        api=api_of(case, seen.traits, (target,)),
        parameters=call_parameters(case),
        evidence=(observed("breaks-rule", target=target, rule=_RULE, how=wrong.said),),
        measure=Measure("difference", wrong.apart) if wrong.apart is not None else None,
    )
    kind = Kind.INCONSISTENCY if wrong.kind is Kind.EQUIVALENCE else wrong.kind
    suspicion = Suspicion(kind, diagnosis, case, seen.targets, "", Stage.CALL, oracle="same_operator", row=wrong.row)
    verdict = _verdict((target,), Judgement.FAIL, wrong.said)
    return Judged((replace(verdict, kind=kind, judged_by=wrong.judged_by),), (suspicion,))


def _verdict(targets: tuple[str, ...], judgement: Judgement, said: str) -> Verdict:
    return Verdict(judgement, targets, said, stage=Stage.CALL)
