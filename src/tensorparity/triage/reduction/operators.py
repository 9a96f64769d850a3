"""Calls of operators: the catalogue knows their shapes, so only inputs that fit together are tried.

One input where many are stacked, ones where any numbers do, as many zeros as possible, the part of the shape that is
not zero, ones for what all inputs share, and the fewest digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, Case
from ...core.endings import ENDING_KINDS
from ...core.rows import row_count, some_rows
from ...core.verdict import Kind
from ...operators.functions.native import case_operator, shared_inputs
from ...operators.functions.spec import TIMES, Operator, Sizes
from .order import shortened
from .reducer import Attempts
from .splitting import apply_most

_ROUNDS = 8
#: Inputs of no more numbers are small enough.
_SMALL = 4
_MARGINS = (0, 1, 2, 4)
_DIGITS = (1, 2, 3, 4, 5, 6)
#: What has nothing to do with the numbers, most often.
_FORMAL = ENDING_KINDS | {Kind.SHAPE, Kind.DTYPE}


def shrink_operator(attempts: Attempts) -> None:
    """All of these, one after the other."""
    operator = case_operator(attempts.case)
    if operator is None or attempts.case.counterpart is not None:
        return
    formal = attempts.best.kind in _FORMAL
    if formal:
        _ones(attempts, operator)
    _one_input(attempts)
    if not formal:  # ones are more ordinary numbers than zeros
        _fewer_numbers(attempts, operator)
    _smaller_shape(attempts, operator)
    _plain_kernels(attempts, operator)
    _shorter_numbers(attempts)


def _stacked(operator: Operator) -> list[str]:
    return [operand.name for operand in operator.operands if operand.stacked]


def _parameters(case: Case) -> dict[str, object]:
    assert isinstance(case.subject, ApiCall)
    return {name: value for name, value in case.subject.kwargs.items() if name != TIMES}


def _fitting(operator: Operator, case: Case, shape: Sizes) -> dict[str, Sizes] | None:
    """The shape of every operand; None for a shape that the case's parameters do not fit."""
    try:
        return {name: tuple(size) for name, size in operator.sizes(_parameters(case), shape).items()}
    except (ValueError, TypeError, IndexError):
        return None


def _ones(attempts: Attempts, operator: Operator) -> None:
    """The call on ones, in every shape of the operator from the smallest on."""
    if attempts.best.kind in (Kind.CRASH, Kind.HANG):
        return  # every try costs a worker
    case = attempts.case
    shapes = sorted(operator.shapes, key=lambda sizes: int(np.prod(sizes)))
    sizes = [found for shape in shapes if (found := _fitting(operator, case, shape)) is not None]
    attempts.first(_of_ones(operator, case, found) for found in sizes)


def _of_ones(operator: Operator, case: Case, sizes: dict[str, Sizes]) -> Case:
    inputs: dict[str, Array] = {}
    for operand in operator.operands:
        whole = (1, *sizes[operand.name]) if operand.stacked else sizes[operand.name]
        one = min(max(1.0, operand.low), operand.high)
        inputs[operand.name] = np.full(whole, one).astype(case.inputs[operand.name].dtype)
    return replace(case, inputs=inputs)


def _one_input(attempts: Attempts) -> None:
    """The stacked inputs cut in halves, as long as one of them still shows it; the first alone before all."""
    shared = shared_inputs(attempts.case)
    while (count := row_count(attempts.case, shared)) > 1:
        case, middle = attempts.case, (count + 1) // 2
        parts = [(0, 1), (0, middle), (middle, count)] if count > 2 else [(0, 1), (1, 2)]
        if not attempts.first(some_rows(case, first, end, shared) for first, end in parts):
            return


def _fewer_numbers(attempts: Attempts, operator: Operator) -> None:
    """Zeros wherever there may be zeros."""
    for name in _stacked(operator):
        live = np.flatnonzero(attempts.case.inputs[name].ravel().astype(np.float64))
        if len(live) > 1:
            blocks = np.array_split(live, min(len(live), 2 * _ROUNDS))
            left = apply_most(attempts, blocks, lambda case, parts, name=name: _zeroed(case, name, parts))  # type: ignore[misc]
            single = [np.array([place]) for block in left for place in block.tolist()]
            if len(single) > len(left):
                apply_most(attempts, single, lambda case, parts, name=name: _zeroed(case, name, parts))  # type: ignore[misc]


def _zeroed(case: Case, name: str, places: Sequence[Array]) -> Case:
    changed = case.inputs[name].copy()
    changed.reshape(-1)[np.concatenate(list(places))] = 0
    return _with(case, name, changed)


def _with(case: Case, name: str, array: Array) -> Case:
    return replace(case, inputs={**case.inputs, name: array})


def _smaller_shape(attempts: Attempts, operator: Operator) -> None:
    """Cut off what is zero around the numbers that matter, then halves of every axis, as long as it helps."""
    names = _stacked(operator)
    for propose in (_trimmed, *[_halved] * _ROUNDS):
        if max(attempts.case.inputs[name][0].size for name in names) <= _SMALL:
            return
        if not attempts.first(list(propose(operator, attempts.case))) and propose is _halved:
            return


def _trimmed(operator: Operator, case: Case) -> Iterator[Case]:
    """Every axis from the first to the last number that is not zero, with margins for windows."""
    arrays = [case.inputs[name] for name in _stacked(operator)]
    base = arrays[0].shape[1:]
    live = [np.argwhere(array.astype(np.float64) != 0)[:, 1:] for array in arrays if array.shape[1:] == base]
    places = np.concatenate(live) if live else np.empty((0, len(base)), int)
    if not len(places):
        return
    for margin in _MARGINS:
        low, high = np.maximum(places.min(axis=0) - margin, 0), np.minimum(places.max(axis=0) + 1 + margin, base)
        yield from _cut(operator, case, [slice(int(a), int(b)) for a, b in zip(low, high, strict=True)])


def _halved(operator: Operator, case: Case) -> Iterator[Case]:
    base = case.inputs[_stacked(operator)[0]].shape[1:]
    for axis, size in enumerate(base):
        whole = [slice(None)] * len(base)
        for part in (slice(0, (size + 1) // 2), slice(size // 2, size)) if size > 1 else ():
            yield from _cut(operator, case, [*whole[:axis], part, *whole[axis + 1 :]])


def _cut(operator: Operator, case: Case, parts: Sequence[slice]) -> Iterator[Case]:
    """The case on a part of its inputs, if the operator takes such shapes; what is not cut must fit as it is."""
    names = _stacked(operator)
    base = case.inputs[names[0]].shape
    cut = {n: case.inputs[n][(slice(None), *parts)].copy() for n in names if case.inputs[n].shape == base}
    smaller = replace(case, inputs={**case.inputs, **cut})
    if fits(operator, smaller):
        yield smaller


def fits(operator: Operator, case: Case) -> bool:
    """Whether the arrays of a case go together, by the operator's rule for shapes."""
    names = _stacked(operator)
    sizes = _fitting(operator, case, case.inputs[names[0]].shape[1:])
    shapes = {name: array.shape[1:] if name in names else array.shape for name, array in case.inputs.items()}
    return sizes is not None and shapes == {name: size for name, size in sizes.items() if name in shapes}


def _plain_kernels(attempts: Attempts, operator: Operator) -> None:
    """Ones for what all inputs of a call share, where that shows it as well."""
    for name in (operand.name for operand in operator.operands if not operand.stacked):
        attempts.first([_with(attempts.case, name, np.ones_like(attempts.case.inputs[name]))])


def _shorter_numbers(attempts: Attempts) -> None:
    """Fewer digits for all numbers of an operand: the fewest that still show it."""
    for name in attempts.case.inputs:
        array = attempts.case.inputs[name]
        attempts.first(_with(attempts.case, name, shortened(array, digits)) for digits in _DIGITS)
