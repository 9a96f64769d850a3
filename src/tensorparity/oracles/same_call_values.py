"""Values of one call on several targets: who lies outside of what two float64 runs, or NumPy of whole numbers, say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.call import ApiCall
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
#: What neither rounding nor the range of a dtype explains, of numbers up to this size.
_GROSS, _TAME = 1e-3, 1e6
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
    several = K if difference.name.startswith(_GRADIENTS.only) else 1.0
    return difference.relative is not None and difference.relative <= several * K * unit


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
    agreed = _agreed(known)
    if agreed is None:
        return []
    mask = _judged(case, agreed[0].exact)
    wrong = [target for target, own in given.items() if not any(_within(near, own, mask) for near in agreed)]
    if len(given) - len(wrong) < _least_right(case, difference):
        return []  # rounding, or the range of the dtype, takes most of them there
    off = {target: _least_excess(agreed, given[target]) > 0 for target in wrong}
    return (yield from _with_slopes(wide, off, name, agreed))


def _least_right(case: Case, difference: Difference) -> int:
    """How many have to be right in the call's own dtype before others are blamed; not all have gradients."""
    floats = [np.abs(array.astype(np.complex128)) for array in case.inputs.values() if array.dtype.kind in "fcV"]
    tame = all(bool((array <= _TAME).all()) for array in floats)
    gross = difference.relative is None or difference.relative > _GROSS
    return 1 if difference.name.startswith(_GRADIENTS.only) or (tame and gross) else 2


def _agreed(known: Mapping[str, tuple[Array, Neighbourhood]]) -> list[Neighbourhood] | None:
    """What the float64 runs that agree say; None where no two do, or where others agree on something else."""
    alike = [pair for pair in combinations(known, 2) if _agree(known[pair[0]], known[pair[1]])]
    if not alike or any(set(alike[0]).isdisjoint(pair) and not _joined(alike, alike[0], pair) for pair in alike):
        return None
    return [known[target][1] for target in alike[0]]


def _agree(one: tuple[Array, Neighbourhood], other: tuple[Array, Neighbourhood]) -> bool:
    (first, near_first), (second, near_second) = one, other
    return first.shape == second.shape and _within(near_first, second) and _within(near_second, first)


def _joined(alike: Sequence[tuple[str, str]], one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether somebody of two pairs agrees with somebody of the other."""
    return any((a, b) in alike or (b, a) in alike for a in one for b in other)


def _judged(case: Case, agreed: Array) -> Array | None:
    """The elements that anything is said of; all where it is None.

    With NaN among the inputs, only that NaN is lost is; with infinities, only what is finite all the same.
    """
    floats = [array for array in case.inputs.values() if array.dtype.kind in "fc"]
    call = case.subject
    if any(bool(np.isnan(array).any()) for array in floats):
        ignoring = isinstance(call, ApiCall) and call.api.rpartition(".")[2].startswith("nan")
        return None if ignoring else np.isnan(agreed)
    return None if all(bool(np.isfinite(array).all()) for array in floats) else np.isfinite(agreed)


def _least_excess(agreed: Sequence[Neighbourhood], array: Array) -> Array:
    """Elementwise, how far an answer lies outside of all that agrees."""
    least: Array = np.minimum.reduce([near.excess(array) for near in agreed])
    return least


def _with_slopes(wide: Case, off: Mapping[str, Array], name: str, agreed: Sequence[Neighbourhood]) -> Asking[list[str]]:
    """Of those whose gradient is wrong, whom one-sided slopes of their own results bear out to be; of results, all.

    Args:
        off: by target, which elements are wrong.
    """
    wrong = list(off)
    if not name.startswith(_GRADIENTS.only) or not wrong:
        return wrong
    alone = one_row(wide, 0)
    asked = replace(alone, procedure=replace(alone.procedure, variant="slopes"))
    (answer,) = yield [Check(asked, tuple(wrong))]
    found = {target: rows_of(asked, answer.outcomes[target])[0].answers.get(name) for target in wrong}
    slopes = {target: slope for target, slope in found.items() if slope is not None}
    return [target for target, slope in slopes.items() if (off[target] & (_least_excess(agreed, slope) <= 0)).any()]


def _around(wide: Case, outcome: Outcome, name: str, given: Mapping[str, Array]) -> tuple[Array, Neighbourhood] | None:
    """What a target says in float64, or of it exactly."""
    values = [row.answers[name] for row in rows_of(wide, outcome) if name in row.answers]
    if not values or len(values) != (wide.procedure.rows or 1) or not _is_wide(values[0]):
        return None
    near = neighbourhood(values, dtype_name(next(iter(given.values()))))
    return (values[0], near) if near is not None else None


def _is_wide(array: Array) -> bool:
    return dtype_name(array) in ("float64", "complex128") or is_exact(array)


def _within(around: Neighbourhood, array: Array, mask: Array | None = None) -> bool:
    if array.shape != around.nan.shape and array.dtype.kind != "c":
        return True  # of another form: there is nothing to measure
    excess = around.excess(array)
    return float((excess if mask is None else excess[mask]).max(initial=0.0)) <= 0.0


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
