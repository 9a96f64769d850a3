"""Rows: a case whose inputs are stacked, and parts of it.

A population of a search is one case with the individuals as rows. What fails is cut out before anybody is shown it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from .arrays import Array, Arrays
from .case import Case


def row_count(case: Case, shared: Collection[str] = ()) -> int:
    """How many inputs are stacked in a case.

    Args:
        shared: names of the inputs that all rows share (a kernel); they are not stacked.
    """
    stacked = (array for name, array in case.inputs.items() if name not in shared and array.ndim)
    return next((len(array) for array in stacked), 1)


def some_rows(case: Case, first: int, end: int, shared: Collection[str] = ()) -> Case:
    """The case with the rows from ``first`` to before ``end`` alone."""
    return _edited(case, shared, lambda array: array[first:end].copy())


def these_rows(case: Case, rows: Sequence[int]) -> Case:
    """The case with some of its rows alone, in this order."""
    return _edited(case, (), lambda array: array[list(rows)])


def one_row(case: Case, row: int, shared: Collection[str] = ()) -> Case:
    """The case with one of its rows alone; of a call whose inputs are run one by one, with that input alone."""
    if case.procedure.rows is not None:
        return _unstacked(case, row)
    return some_rows(case, row, row + 1, shared)


def _unstacked(case: Case, row: int) -> Case:
    """One input of a call that is run on several, and of its other side."""
    alone = replace(case, procedure=replace(case.procedure, rows=None), inputs=_taken(case.inputs, row))
    other = case.counterpart
    if other is None:
        return alone
    procedure = replace(other.procedure, rows=None) if other.procedure else None
    inputs = _taken(other.inputs, row) if other.procedure is None or other.procedure.rows else other.inputs
    return replace(alone, counterpart=replace(other, procedure=procedure, inputs=inputs))


def _taken(arrays: Arrays, row: int) -> dict[str, Array]:
    return {name: np.array(array[row]) for name, array in arrays.items()}


def repeated(case: Case, copies: int, shared: Collection[str] = ()) -> Case:
    """Every row so many times: some kernels treat the body of a long array in another way than its end.

    An equivalence is what it is: its other side would have to be made anew.
    """
    if copies == 1 or case.counterpart is not None:
        return case
    return _edited(case, shared, lambda array: np.repeat(array, copies, axis=0))


def all_alike(case: Case, shared: Collection[str] = ()) -> bool:
    """Whether the rows are copies of one another, so that there is none to cut out."""
    stacked = (array for name, array in case.inputs.items() if name not in shared and array.ndim)
    return all((_bits(array) == _bits(array[:1])).all() for array in stacked if len(array))


def _bits(array: Array) -> Array:
    """As bytes, because NaN equals nothing."""
    return np.ascontiguousarray(array).reshape(len(array), -1).view(np.uint8)


def _edited(case: Case, shared: Collection[str], edit: Callable[[Array], Array]) -> Case:
    inputs: dict[str, Array] = {
        name: array if name in shared or not array.ndim else edit(array) for name, array in case.inputs.items()
    }
    return replace(case, inputs=inputs)
