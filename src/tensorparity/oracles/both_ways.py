"""A freedom excuses a library only while it answers one way.

What the documentation leaves open (NaN in a function that is told by cases, what stands behind a weight of 0) may come
out as a number or as NaN. A library that gives one of them in the body of a long array and the other at its end, or one
eagerly and the other compiled, has decided neither: equal rows must have equal answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.channels import is_finite, is_nan
from ..core.evidence import observed
from ..core.finding import Class, Diagnosis
from ..core.oracle import Check, Seen
from ..core.outcome import Outcome
from ..core.rows import repeated, row_count
from ..core.suspicion import Suspicion, WorstElement
from ..core.traits import Traits
from ..core.verdict import Kind
from ..operators.functions.native import shared_inputs
from .base import Asking
from .measure.documented_freedoms import freedom_of
from .statements import BY_NOTHING, Statement
from .subjects import api_of, node_key, parameters_of, stage_of

#: Copies of each row: more than one vector of any instruction set, and not a multiple of one.
_COPIES = 67
_MOST_NUMBERS = 1 << 20

Outcomes = Mapping[str, Outcome]


def only_one_way(seen: Seen, outcomes: Outcomes, said: Statement) -> Asking[Statement]:
    """What was said of a case; where that accuses nobody though something is free in it, who answers both ways."""
    if any(suspicion.diagnosis.klass is Class.DEFECT for suspicion in said.suspicions):
        return said
    excused = bool(said.suspicions) or freedom_of(seen.case) is not None
    found = (yield from answered_both_ways(seen, outcomes)) if excused else []
    return replace(said, convictions=tuple((one, BY_NOTHING) for one in found), undecided="") if found else said


def answered_both_ways(seen: Seen, outcomes: Outcomes) -> Asking[list[Suspicion]]:
    """Who answers NaN and a number for the same; asks for the rows many times over where the case has none twice."""
    case = seen.case
    if not holds_not_finite(case):
        return []
    completed = {target: outcome for target, outcome in outcomes.items() if outcome.completed}
    found = _by_position(case, completed, seen.traits) or _by_compilation(case, completed, seen.traits)
    if found or not completed:
        return found
    longer = repeated(case, _copies(case), shared_inputs(case))
    if longer is case:
        return []
    (answer,) = yield [Check(longer, tuple(completed))]
    again = {target: outcome for target, outcome in answer.outcomes.items() if outcome.completed}
    return _by_position(longer, again, seen.traits) or _by_size(case, completed, again, seen.traits)


def holds_not_finite(case: Case) -> bool:
    """Whether any input holds NaN or an infinity."""
    return any(not is_finite(array).all() for array in case.inputs.values())


def _copies(case: Case) -> int:
    numbers = sum(array.size for array in case.inputs.values())
    alike = row_count(case, shared_inputs(case)) > _COPIES  # it has been asked so, or is long enough
    return 1 if alike else max(1, min(_COPIES, _MOST_NUMBERS // max(numbers, 1)))


def _by_position(case: Case, completed: Outcomes, traits: Traits) -> list[Suspicion]:
    groups = _equal_rows(case)
    found = []
    for target, outcome in completed.items():
        place = _uneven(outcome, groups)
        if place is not None:
            found.append(_suspicion(case, completed, target, traits, "position", place))
    return found


def _equal_rows(case: Case) -> list[list[int]]:
    """Places of rows that are the same in every input, where there are several."""
    shared = shared_inputs(case)
    stacked = [array for name, array in case.inputs.items() if name not in shared and array.ndim]
    rows: dict[bytes, list[int]] = {}
    for row in range(min((len(array) for array in stacked), default=0)):
        rows.setdefault(b"|".join(np.ascontiguousarray(array[row]).tobytes() for array in stacked), []).append(row)
    return [places for places in rows.values() if len(places) > 1]


def _uneven(outcome: Outcome, groups: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """An element that is NaN in one of several equal rows and a number in another; None where there is none."""
    for output in outcome.outputs.values():
        if not output.ndim:
            continue
        nan = is_nan(output)
        for places in groups:
            if max(places) < len(nan) and (uneven := nan[places].any(axis=0) & ~nan[places].all(axis=0)).any():
                index = np.unravel_index(int(np.argmax(uneven)), uneven.shape) if uneven.ndim else ()
                row = next(place for place in places if not nan[(place, *index)])
                return (row, *(int(part) for part in index))
    return None


def _by_compilation(case: Case, completed: Outcomes, traits: Traits) -> list[Suspicion]:
    """A compiled target whose NaN are others than those of the same library without its compiler."""
    found = []
    for target, outcome in completed.items():
        plain = [t for t in completed if traits[t].library == traits[target].library and not traits[t].compiled]
        if not traits[target].compiled or not plain:
            continue
        place = _apart(outcome, completed[plain[0]])
        if place is not None:
            found.append(_suspicion(case, completed, target, traits, plain[0], place))
    return found


def _apart(one: Outcome, other: Outcome) -> tuple[int, ...] | None:
    for name, output in one.outputs.items():
        beside = other.outputs.get(name)
        if beside is None or output.shape != beside.shape:
            continue
        differ = is_nan(output) != is_nan(beside)
        if differ.any():
            return tuple(int(part) for part in np.unravel_index(int(np.argmax(differ)), differ.shape))
    return None


def _by_size(case: Case, short: Outcomes, long: Outcomes, traits: Traits) -> list[Suspicion]:
    """Who answers a row alone in one way and many copies of it in the other.

    Where every library does, the function looks at more than one row at a time, and its rows are not independent.
    """
    rows = row_count(case, shared_inputs(case))
    places = {target: _apart(short[target], _first_copies(outcome, rows)) for target, outcome in long.items()}
    changed = {target: place for target, place in places.items() if place is not None}
    libraries = {traits[target].library for target in places}
    if len(libraries) > 1 and libraries == {traits[target].library for target in changed}:
        return []
    return [_suspicion(case, short, target, traits, "size", place) for target, place in changed.items()]


def _first_copies(long: Outcome, rows: int) -> Outcome:
    """Of each row that was run many times over, the first copy; they are alike."""
    stacked = {n: o for n, o in long.outputs.items() if o.ndim and rows and len(o) > rows and len(o) % rows == 0}
    return replace(long, outputs={name: output[:: len(output) // rows] for name, output in stacked.items()})


def _suspicion(
    case: Case, completed: Outcomes, target: str, traits: Traits, how: str, place: tuple[int, ...]
) -> Suspicion:
    """``how``: by position, by size, or the target that answers the other way."""
    output: Array = next(iter(completed[target].outputs.values()))
    said = observed("both-ways", target=target, how=how, index=list(place), rows=len(output) if output.ndim else 1)
    diagnosis = Diagnosis(
        klass=Class.DEFECT,
        suspects=(target,),
        api=api_of(case, traits, (target,)),
        parameters=parameters_of(case),
        node=node_key(case),
        evidence=(said,),
    )
    return Suspicion(Kind.NAN, diagnosis, case, tuple(completed), stage=stage_of(case), worst=WorstElement(place))
