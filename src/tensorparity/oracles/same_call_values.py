"""Values of one call on several targets: who lies outside of what two float64 runs, or NumPy of whole numbers, say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.case import Case
from ..core.channels import is_exact
from ..core.oracle import Check
from ..core.outcome import Outcome
from ..core.rows import one_row
from ..core.rule import Demands
from ..core.verdict import Kind
from ..operators.reference.rounding import K
from .base import Asking
from .by_name import equals_by_name, is_ordinary, value_by_name
from .call_rows import Row, rows_of
from .measure.neighbourhood import Neighbourhood, in_float64, neighbourhood
from .row_difference import Difference, compared
from .statements import BY_REFERENCE

#: So many targets, and so many other inputs, have to show that NumPy's function of that name means the same.
_SHOWING, _SHOWN = 2, 2
#: Whole numbers from here on are narrowed by some backends.
_NARROWED_FROM = 2**31
_VALUES, _GRADIENTS = Demands(dtypes=False), Demands(dtypes=False, only="gradient:")

Rows = Sequence[Row]


@dataclass(frozen=True)
class WrongTargets:
    """Who is wrong, and what is said of it.

    Args:
        name: of the output or gradient that is wrong; empty where it is about all.
    """

    targets: tuple[str, ...]
    said: str
    kind: Kind
    judged_by: str = BY_REFERENCE
    apart: float | None = None
    name: str = ""


def first_difference(answers: Mapping[str, Row], fixed: str | None = None) -> Difference | None:
    """What differs in value by more than a few roundoffs of the largest number.

    Args:
        fixed: the one result that is looked at; all where it is None.
    """
    answered = [row for row in answers.values() if row.failure is None]
    pulled = any(name.startswith(_GRADIENTS.only) for row in answered for name in row.answers)
    demands = _GRADIENTS if pulled else _VALUES
    found = (compared(None, answered[0], other, demands, fixed) for other in answered[1:])
    different = (item for item in found if item is not None and item.name and item.kind is not Kind.SHAPE)
    return next((item for item in different if not _is_slight(item, answered)), None)


def _is_slight(difference: Difference, answered: Sequence[Row]) -> bool:
    """Backends compute one formula in several ways, and lose other digits."""
    arrays = [row.answers[difference.name] for row in answered if difference.name in row.answers]
    unit = max((unit_roundoff(dtype_name(array)) for array in arrays if is_floating(dtype_name(array))), default=0.0)
    return difference.relative is not None and difference.relative <= K * unit


def by_values(
    stacked: Case, case: Case, place: int, rows: Mapping[str, Rows], fixed: str | None
) -> Asking[WrongTargets | None]:
    """Who is wrong in one row.

    Args:
        stacked: the case with all of its rows; ``case`` is that row alone, the one at ``place``.
        rows: by target, all answers.
    """
    answers = {target: own[place] for target, own in rows.items() if own[place].failure is None}
    difference = first_difference(answers, fixed)
    if difference is None:
        return None
    wrong: list[str] | None = yield from _outside_of_two(case, tuple(rows), difference, answers)
    if wrong is None:
        wrong = _by_name(stacked, place, difference, rows)
    if not wrong:
        return None
    return WrongTargets(tuple(wrong), difference.said, Kind.INCONSISTENCY, apart=difference.apart, name=difference.name)


# By runs in float64


def _outside_of_two(
    case: Case, targets: tuple[str, ...], difference: Difference, answers: Mapping[str, Row]
) -> Asking[list[str] | None]:
    """Who lies outside of what two float64 runs, which agree with each other, say of an output; None without them."""
    wide = in_float64(case, case.seed)
    if wide is None:
        return None
    (answer,) = yield [Check(wide, targets)]
    name = difference.name
    given = {target: row.answers[name] for target, row in answers.items() if name in row.answers}
    around = {target: _around(wide, outcome, name, given) for target, outcome in answer.outcomes.items()}
    known = {target: near for target, near in around.items() if near is not None}
    for one, other in combinations(known, 2):
        (first, near_first), (second, near_second) = known[one], known[other]
        if first.shape == second.shape and _within(near_first, second) and _within(near_second, first):
            wrong = [t for t, own in given.items() if not _within(near_first, own) and not _within(near_second, own)]
            borne_out = not wrong or (yield from _has_slope(wide, one, name, near_first))
            return wrong if borne_out else []
    return []


def _has_slope(wide: Case, target: str, name: str, near: Neighbourhood) -> Asking[bool]:
    """Whether differences of the results are what a gradient says, as far as it has any; true of a result."""
    if not name.startswith(_GRADIENTS.only):
        return True
    alone = one_row(wide, 0)
    asked = replace(alone, procedure=replace(alone.procedure, variant="slopes"))
    (answer,) = yield [Check(asked, (target,))]
    (row,) = rows_of(asked, answer.outcomes[target])
    return name not in row.answers or _within(near, row.answers[name])


def _around(wide: Case, outcome: Outcome, name: str, given: Mapping[str, Array]) -> tuple[Array, Neighbourhood] | None:
    """What a target says in float64, or of it exactly."""
    values = [row.answers[name] for row in rows_of(wide, outcome) if name in row.answers]
    if not values or len(values) != (wide.procedure.rows or 1) or not _is_wide(values[0]):
        return None
    near = neighbourhood(values, dtype_name(next(iter(given.values()))))
    return (values[0], near) if near is not None else None


def _is_wide(array: Array) -> bool:
    return dtype_name(array) in ("float64", "complex128") or is_exact(array)


def _within(around: Neighbourhood, array: Array) -> bool:
    if array.shape != around.nan.shape and array.dtype.kind != "c":
        return True  # of another form: there is nothing to measure
    return float(around.excess(array).max(initial=0.0)) <= 0.0


# By NumPy's function of that name


def _by_name(stacked: Case, place: int, difference: Difference, rows: Mapping[str, Rows]) -> list[str] | None:
    """Who differs from NumPy's function of that name, where others show that it means the same."""
    if difference.name != "0" or stacked.procedure.rows is None or stacked.procedure.derivative:
        return None
    value = value_by_name(one_row(stacked, place))
    if value is None or _is_narrowed(value) or not _means_the_same(stacked, place, rows):
        return None
    given = {target: own[place].answers["0"] for target, own in rows.items() if own[place].failure is None}
    wrong = [target for target, array in given.items() if not equals_by_name(array, value)]
    return wrong if len(given) - len(wrong) >= _SHOWING else None


def _means_the_same(stacked: Case, place: int, rows: Mapping[str, Rows]) -> bool:
    shown = 0
    for other in range(stacked.procedure.rows or 1):
        case = one_row(stacked, other)
        if other == place or not is_ordinary(case):
            continue
        value = value_by_name(case)
        given = [own[other].answers["0"] for own in rows.values() if "0" in own[other].answers]
        if value is None or sum(equals_by_name(array, value) for array in given) < _SHOWING:
            return False
        shown += 1
    return shown >= _SHOWN


def _is_narrowed(value: Array) -> bool:
    """Whether it leaves 32 bits, which is all that some backends have."""
    if value.dtype.kind not in "iu":
        return False
    return bool((np.abs(value.astype(np.float64)) >= _NARROWED_FROM).any())
