"""Calls: fewer arguments, those that are left at their default, smaller arrays.

Sizes that arguments share stay shared, as a product's inner ones must.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.call import parts_of
from ...core.case import ApiCall, ArrayArg, Case
from ...core.rule import is_fixed
from ...operators.functions.native import case_operator
from ...operators.functions.recognised import odd_arguments, with_defaults
from ...oracles.measure.editing import cut_array
from .reducer import Attempts
from .splitting import apply_most

#: The argument that says along which axis a function works.
_AXIS = "axis"


def reset_arguments(attempts: Attempts) -> None:
    """Of a function that is a declared operator, what can go back to its default: while the arrays have room for it."""
    if not is_fixed(attempts.case):
        apply_most(attempts, list(odd_arguments(attempts.case)), with_defaults)


def shrink_call(attempts: Attempts) -> None:
    call = attempts.case.subject
    if not isinstance(call, ApiCall) or is_fixed(attempts.case):
        return
    plain = [name for name, value in call.kwargs.items() if not holds_array(value)]
    apply_most(attempts, plain, _without)
    attempts.first([_along_the_last_axis(attempts.case)])
    if case_operator(attempts.case) is not None:
        return  # the catalogue knows which shapes go together
    stuck = apply_most(attempts, _sizes(attempts.case), lambda case, sizes: _with_axes_capped(case, sizes, 1))
    for size in stuck:
        attempts.first(
            _with_axes_capped(attempts.case, [size], cap) for cap in (2, 3, size // 2, size - 1) if 0 < cap < size
        )
    axes = [(name, axis) for name, array in attempts.case.inputs.items() for axis in range(array.ndim)]
    apply_most(attempts, [(name, axis) for name, axis in axes if attempts.case.inputs[name].shape[axis] > 1], _flat)


def holds_array(value: object) -> bool:
    """Whether an argument is an array, or has one in it."""
    return any(isinstance(part, ArrayArg) for part in parts_of(value))


def _without(case: Case, names: Sequence[str]) -> Case:
    call = case.subject
    assert isinstance(call, ApiCall)
    kwargs = {name: value for name, value in call.kwargs.items() if name not in names}
    return replace(case, subject=replace(call, kwargs=kwargs))


def _along_the_last_axis(case: Case) -> Case | None:
    """Without its axis, on arrays that are turned so that it is the last one: the default of most functions."""
    call = case.subject
    assert isinstance(call, ApiCall)
    axis = call.kwargs.get(_AXIS)
    if not isinstance(axis, int) or isinstance(axis, bool):
        return None
    if not all(-array.ndim <= axis < array.ndim for array in case.inputs.values()):
        return None
    turned = {name: np.ascontiguousarray(np.moveaxis(array, axis, -1)) for name, array in case.inputs.items()}
    return replace(_without(case, [_AXIS]), inputs=turned)


def _sizes(case: Case) -> list[int]:
    return sorted({size for array in case.inputs.values() for size in array.shape if size > 1}, reverse=True)


def _with_axes_capped(case: Case, sizes: Sequence[int], cap: int) -> Case | None:
    """Every axis of one of these sizes at most ``cap`` long, in all arrays."""
    if not sizes:
        return None
    inputs = {
        name: cut_array(array, tuple(min(size, cap) if size in sizes else size for size in array.shape))
        for name, array in case.inputs.items()
    }
    return replace(case, inputs=inputs)


def _flat(case: Case, axes: Sequence[tuple[str, int]]) -> Case:
    """Single axes of length 1, whatever the others of their size are."""
    inputs = {
        name: cut_array(array, tuple(1 if (name, axis) in axes else size for axis, size in enumerate(array.shape)))
        for name, array in case.inputs.items()
    }
    return replace(case, inputs=inputs)
