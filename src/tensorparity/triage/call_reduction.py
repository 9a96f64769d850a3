"""The smallest input that still shows it: one element where one is enough, few of them, a small shape, short numbers.

The candidates of a round are run together. ``fails`` says of each whether the key is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array, dtype_name, dtype_named
from ..core.case import ApiCall, Case
from ..operators.calls.spec import TIMES, Operator

#: Cases of one input each; True where the failure is still the same.
Fails = Callable[[Sequence[Case]], list[bool]]

_ROUNDS = 8
#: Inputs of no more numbers are small enough.
_SMALL = 4
_MARGINS = (0, 1, 2, 4)
_DIGITS = (1, 2, 3, 4, 5, 6)


def reduce_call(operator: Operator, case: Case, fails: Fails, place: int = 0) -> Case:
    """A case no larger than ``case`` for which ``fails`` holds; ``place`` is the worst element of its output."""
    for simplify in (_one_element, _fewer_numbers, _smaller_shape, _plain_kernels, _shorter_numbers):
        case = simplify(operator, case, fails, place)
    return case


def _stacked(operator: Operator) -> list[str]:
    return [operand.name for operand in operator.operands if operand.stacked]


def _one_element(operator: Operator, case: Case, fails: Fails, place: int) -> Case:
    """Where every number is computed by itself, the worst one is enough."""
    names = _stacked(operator)
    if operator.accumulates or operator.parameters or len(names) < len(operator.operands):
        return case
    alone = replace(case, inputs={name: case.inputs[name].reshape(1, -1)[:, place : place + 1] for name in names})
    return alone if fails([alone])[0] else case


def _fewer_numbers(operator: Operator, case: Case, fails: Fails, place: int) -> Case:
    """Zero what can be zero: halves, quarters, then single numbers, as long as it helps."""
    for name in _stacked(operator):
        parts = 2
        for _ in range(_ROUNDS):
            array = case.inputs[name]
            live = np.flatnonzero(array.ravel().astype(np.float64))
            if len(live) < 2:
                break
            blocks = [block for block in np.array_split(live, min(parts, len(live))) if len(block)]
            candidates = [_with(case, name, _zeroed(array, block)) for block in blocks]
            kept = fails(candidates)
            if any(kept):
                together = _with(
                    case, name, _zeroed(array, np.concatenate([b for b, k in zip(blocks, kept, strict=True) if k]))
                )
                case = together if fails([together])[0] else candidates[kept.index(True)]
            elif parts >= len(live):
                break
            else:
                parts *= 2
    return case


def _smaller_shape(operator: Operator, case: Case, fails: Fails, place: int) -> Case:
    """Cut off what is zero around the numbers that matter, then halves of every axis, as long as it helps."""
    for propose in (_trimmed, *[_halved] * _ROUNDS):
        if max(array[0].size for array in _stacked_arrays(operator, case)) <= _SMALL:
            break
        candidates = list(propose(operator, case))
        kept = [candidate for candidate, same in zip(candidates, fails(candidates), strict=True) if same]
        if kept:
            case = min(kept, key=lambda one: sum(array.size for array in one.inputs.values()))
        elif propose is _halved:
            break
    return case


def _stacked_arrays(operator: Operator, case: Case) -> list[Array]:
    return [case.inputs[name] for name in _stacked(operator)]


def _trimmed(operator: Operator, case: Case) -> Iterator[Case]:
    """Every axis from the first to the last number that is not zero, with margins for windows."""
    arrays = _stacked_arrays(operator, case)
    base = arrays[0].shape[1:]
    live = [np.argwhere(array.astype(np.float64) != 0)[:, 1:] for array in arrays if array.shape[1:] == base]
    places = np.concatenate(live) if live else np.empty((0, len(base)), int)
    if not len(places):
        return
    for margin in _MARGINS:
        low, high = np.maximum(places.min(axis=0) - margin, 0), np.minimum(places.max(axis=0) + 1 + margin, base)
        yield from _cut(operator, case, [slice(int(a), int(b)) for a, b in zip(low, high, strict=True)])


def _halved(operator: Operator, case: Case) -> Iterator[Case]:
    base = _stacked_arrays(operator, case)[0].shape[1:]
    for axis, size in enumerate(base):
        whole = [slice(None)] * len(base)
        for part in (slice(0, (size + 1) // 2), slice(size // 2, size)) if size > 1 else ():
            yield from _cut(operator, case, [*whole[:axis], part, *whole[axis + 1 :]])


def _cut(operator: Operator, case: Case, parts: Sequence[slice]) -> Iterator[Case]:
    """The case on a part of its inputs, if the operator takes such shapes; what is not cut must fit as it is."""
    assert isinstance(case.subject, ApiCall)
    names = _stacked(operator)
    base = case.inputs[names[0]].shape
    cut = {n: case.inputs[n][(slice(None), *parts)].copy() for n in names if case.inputs[n].shape == base}
    params = {name: value for name, value in case.subject.kwargs.items() if name != TIMES}
    try:
        sizes = operator.sizes(params, cut[names[0]].shape[1:])
    except (ValueError, TypeError, IndexError):  # a shape that these parameters do not fit
        return
    inputs = {**case.inputs, **cut}
    shapes = {name: array.shape[1:] if name in names else array.shape for name, array in inputs.items()}
    if shapes == {name: tuple(size) for name, size in sizes.items() if name in shapes}:
        yield replace(case, inputs=inputs)


def _plain_kernels(operator: Operator, case: Case, fails: Fails, place: int) -> Case:
    """Ones for what all inputs of a call share, where that shows it as well."""
    for name in (operand.name for operand in operator.operands if not operand.stacked):
        plain = _with(case, name, np.ones_like(case.inputs[name]))
        case = plain if fails([plain])[0] else case
    return case


def _shorter_numbers(operator: Operator, case: Case, fails: Fails, place: int) -> Case:
    """Fewer digits for all numbers of an operand: the fewest that still show it."""
    for name in case.inputs:
        candidates = [_with(case, name, rounded) for rounded in _shorter(case.inputs[name])]
        for candidate, kept in zip(candidates, fails(candidates), strict=True):
            if kept:
                case = candidate
                break
    return case


def _shorter(array: Array) -> Iterator[Array]:
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        exponent = np.where(wide == 0, 0, np.floor(np.log10(np.abs(wide))))
    for digits in _DIGITS:
        with np.errstate(all="ignore"):
            unit = 10.0 ** (exponent - digits + 1)
            rounded = np.where(np.isfinite(wide), np.round(wide / unit) * unit, wide)
            narrow = rounded.astype(dtype_named(dtype_name(array)))
        yield narrow


def _zeroed(array: Array, places: Array) -> Array:
    changed = array.copy()
    changed.reshape(-1)[places] = 0
    return changed


def _with(case: Case, name: str, array: Array) -> Case:
    return replace(case, inputs={**case.inputs, name: array})
