"""A function of one library and its counterpart in another: first whether they mean the same, then who is wrong.

Whether two functions mean the same is seen on ordinary numbers. Where such a pair differs, a vote of two blames nobody:
each runs the call in its own float64, on the input and on inputs moved as far as rounding moves them, and where both of
these runs agree, what lies outside of both is wrong. Where they do not, NumPy's or SciPy's function of that name says
who is right, if it gives what both give on ordinary numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.call import ApiCall
from ..core.case import Case
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.oracle import Check, Judged, Seen
from ..core.outcome import Outcome
from ..core.rows import one_row
from ..core.rule import Demands
from ..core.suspicion import Suspicion
from ..core.traits import Traits
from ..core.verdict import Judgement, Kind, Measure, Stage, Verdict
from ..operators.reference.rounding import K
from .base import Asking, Steps, Stepwise
from .by_name import equals_by_name, is_ordinary, value_by_name
from .call_rows import Row, rows_of
from .measure.call_freedoms import freedom_of_call
from .measure.neighbourhood import Neighbourhood, in_float64, neighbourhood
from .row_difference import Difference, compared
from .statements import BY_REFERENCE
from .subjects import call_parameters

#: What a trial tells: ordinary inputs that both answer alike, and those that they do not.
ALIKE, APART = "alike", "apart"
_RULE = "direct-counterparts"
_LOOKED_INTO = 2
_SMALLEST = 1.2e-38
_VALUES = Demands(dtypes=False)


@dataclass(frozen=True)
class _Pair:
    """Both sides, with the target that runs each."""

    sides: tuple[Case, Case]
    targets: tuple[str, str]
    outcomes: tuple[Outcome, Outcome]

    def rows(self) -> list[tuple[Row, Row]]:
        own = [rows_of(side, outcome) for side, outcome in zip(self.sides, self.outcomes, strict=True)]
        return list(zip(*own, strict=True))


def _pair(seen: Seen) -> _Pair | None:
    first, second = seen.case.sides()
    found = [_runner_of(side, seen.targets, seen.traits) for side in (first, second)]
    if found[0] is None or found[1] is None:
        return None
    targets = (found[0], found[1])
    return _Pair((first, second), targets, (seen.outcomes[0][targets[0]], seen.outcomes[1][targets[1]]))


def _runner_of(side: Case, targets: tuple[str, ...], traits: Traits) -> str | None:
    """The target that runs this side's library."""
    assert isinstance(side.subject, ApiCall)
    library = side.subject.api.partition(".")[0]
    return next((target for target in targets if traits[target].calls == library), None)


class CounterpartTrial(Stepwise):
    """Tells whether two functions mean the same; convicts nobody."""

    settings: ClassVar[tuple[str, ...]] = ()

    def steps(self, seen: Seen) -> Steps:
        yield from ()
        pair, told = _pair(seen), {ALIKE: 0, APART: 0}
        rows = pair.rows() if pair is not None and any(outcome.completed for outcome in pair.outcomes) else []
        for place, (a, b) in enumerate(rows):
            case = one_row(seen.case, place) if seen.case.procedure.rows is not None else seen.case
            if not is_ordinary(case) or (a.failure and b.failure):
                continue
            alike = _means_the_same(a, b)
            told[ALIKE] += alike and _says_something(a)
            told[APART] += not alike
        verdict = Verdict(Judgement.PASS, seen.targets, "a trial of two functions", stage=Stage.CALL)
        return Judged((verdict,), told=told)


def _means_the_same(a: Row, b: Row) -> bool:
    """Shapes, dtypes and values; integers of another width are a library's default."""
    if a.failure or b.failure or len(a.answers) != len(b.answers):
        return False
    for name, one in a.answers.items():
        other = b.answers.get(name)
        if other is None or one.shape != other.shape or not _same_kind(one, other):
            return False
    return _difference(a, b) is None


def _same_kind(a: Array, b: Array) -> bool:
    names = {dtype_name(a), dtype_name(b)}
    return len(names) == 1 or (a.dtype.kind in "iu" and b.dtype.kind in "iu")


def _says_something(row: Row) -> bool:
    arrays = row.answers.values()
    return any(
        array.size and array.dtype.kind in "fciub" and bool(np.isfinite(array.astype(np.complex128)).any())
        for array in arrays
    )


def _difference(a: Row, b: Row) -> Difference | None:
    """What differs by more than a few roundoffs of the largest number: formulas lose other digits."""
    found = compared(None, a, b, _VALUES)
    if found is None or not found.name or found.relative is None:
        return found
    arrays = [row.answers[found.name] for row in (a, b)]
    unit = max((unit_roundoff(dtype_name(array)) for array in arrays if is_floating(dtype_name(array))), default=0.0)
    return None if found.relative <= K * K * unit else found


class DirectCounterpart(Stepwise):
    """Judges a pair that means the same on numbers that are not ordinary."""

    settings: ClassVar[tuple[str, ...]] = ()

    def steps(self, seen: Seen) -> Steps:
        pair = _pair(seen)
        if pair is None or not any(outcome.completed for outcome in pair.outcomes):
            return Judged((_verdict(seen.targets, Judgement.UNDECIDED, "too few targets answer"),))
        looked = 0
        for place, (a, b) in enumerate(pair.rows()):
            case = one_row(seen.case, place) if seen.case.procedure.rows is not None else seen.case
            if looked >= _LOOKED_INTO or a.failure or b.failure or _is_open(case):
                continue
            difference = _difference(a, b)
            if difference is None or not difference.name or difference.kind is Kind.SHAPE:
                continue
            looked += 1
            wrong = yield from _who(case, pair, difference, (a, b))
            if wrong is None:
                wrong = _by_name(seen.case, pair, place, difference, (a, b))
            if wrong is not None:
                row = place if seen.case.procedure.rows is not None else None
                return _convicted(seen, pair, wrong, difference, row)
        said = "nobody can tell who is wrong" if looked else "both agree"
        return Judged((_verdict(pair.targets, Judgement.UNDECIDED if looked else Judgement.PASS, said),))


def _is_open(case: Case) -> bool:
    if any(freedom_of_call(side) for side in case.sides()):
        return True
    floats = [np.abs(array.astype(np.float64)) for array in case.inputs.values() if array.dtype.kind == "f"]
    return any(bool(((array > 0) & (array < _SMALLEST)).any()) for array in floats)


def _who(case: Case, pair: _Pair, difference: Difference, rows: tuple[Row, Row]) -> Asking[int | None]:
    """The side that lies outside of what both libraries say in float64."""
    name, around = difference.name, []
    for place, side in enumerate(case.sides()):
        wide = in_float64(side, case.seed)
        if wide is None:
            return None
        (answer,) = yield [Check(wide, (pair.targets[place],))]
        found = _around(wide, answer.outcomes[pair.targets[place]], name, rows[place])
        if found is None:
            return None
        around.append(found)
    (first, near_first), (second, near_second) = around
    if first.shape != second.shape or not (_within(near_first, second) and _within(near_second, first)):
        return None
    outside = [
        place
        for place, row in enumerate(rows)
        if not _within(near_first, row.answers[name]) and not _within(near_second, row.answers[name])
    ]
    return outside[0] if len(outside) == 1 else None


def _around(wide: Case, outcome: Outcome, name: str, row: Row) -> tuple[Array, Neighbourhood] | None:
    values = [own.answers[name] for own in rows_of(wide, outcome) if name in own.answers]
    if not values or len(values) != wide.procedure.rows or dtype_name(values[0]) not in ("float64", "complex128"):
        return None
    near = neighbourhood(values, dtype_name(row.answers[name]))
    return (values[0], near) if near is not None else None


def _within(around: Neighbourhood, array: Array) -> bool:
    if array.shape != around.nan.shape and array.dtype.kind != "c":
        return True  # of another form: there is nothing to measure
    return float(around.excess(array).max(initial=0.0)) <= 0.0


def _by_name(case: Case, pair: _Pair, place: int, difference: Difference, rows: tuple[Row, Row]) -> int | None:
    """The side that differs from NumPy's or SciPy's function of that name, where that is the same on other rows."""
    if case.procedure.rows is None or case.procedure.derivative or difference.name != "0":
        return None
    shown = 0
    for other, (a, b) in enumerate(pair.rows()):
        own = one_row(case, other)
        if other == place or not is_ordinary(own) or a.failure or b.failure:
            continue
        value = value_by_name(own)
        if value is None or not equals_by_name(a.answers["0"], value):
            return None
        shown += 1
    value = value_by_name(one_row(case, place)) if shown > 1 else None
    if value is None:
        return None
    wrong = [side for side, row in enumerate(rows) if not equals_by_name(row.answers["0"], value)]
    return wrong[0] if len(wrong) == 1 else None


def _convicted(seen: Seen, pair: _Pair, wrong: int, difference: Difference, row: int | None) -> Judged:
    case, target = seen.case, pair.targets[wrong]
    names = [side.subject.api for side in pair.sides if isinstance(side.subject, ApiCall)]
    said = f"{difference.said}; {names[1 - wrong]} is right"
    evidence = (
        observed("breaks-rule", target=target, rule=_RULE, how=said),
        observed("differs-at", name=difference.name, allowed=difference.allowed, wrong=wrong),
    )
    diagnosis = Diagnosis(
        Class.DEFECT,
        (target,),
        api=names[wrong],
        parameters=call_parameters(replace(pair.sides[wrong], counterpart=None)),
        evidence=evidence,
        measure=Measure("difference", difference.apart) if difference.apart is not None else None,
    )
    stage = Stage.BACKWARD if difference.name.startswith("gradient:") else Stage.CALL
    kind = Kind.NAN if difference.kind is Kind.NAN else Kind.INCONSISTENCY
    suspicion = Suspicion(kind, diagnosis, case, seen.targets, "", stage, oracle="direct_counterpart", row=row)
    verdict = _verdict((target,), Judgement.FAIL, said)
    return Judged((replace(verdict, kind=kind, judged_by=BY_REFERENCE),), (suspicion,))


def _verdict(targets: tuple[str, ...], judgement: Judgement, said: str) -> Verdict:
    return Verdict(judgement, targets, said, stage=Stage.CALL)
