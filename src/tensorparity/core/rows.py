"""Rows: a case whose inputs are stacked, and parts of it.

A population of a search is one case with the individuals as rows. What fails is cut out before anybody is shown it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from .arrays import Array
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


def one_row(case: Case, row: int, shared: Collection[str] = ()) -> Case:
    """The case with one of its rows alone."""
    return some_rows(case, row, row + 1, shared)


def repeated(case: Case, copies: int, shared: Collection[str] = ()) -> Case:
    """Every row so many times: some kernels treat the body of a long array in another way than its end."""
    return case if copies == 1 else _edited(case, shared, lambda array: np.repeat(array, copies, axis=0))


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
