"""What an operator may answer where its inputs hold NaN or infinities: right or not, no matter of rounding.

Several answers are right: what the reference gives, which at an infinity is the limit of a function of one number (0
of ``x * sigmoid(x)`` at minus infinity, where a product of infinity and 0 is no excuse); the limit of the others as
infinities are approached; what both give whatever number stands in place of a NaN (zero times NaN in a formula that
writes a window as a matrix); NaN beside a NaN; and NaN where an infinity comes through a weight of exactly 0 alone
(``Operator.weighed_by_zero``). A sum that holds both infinities is NaN by the formula, in any order of its terms; one
infinity excuses no NaN, except where implementations are known to take the terms apart and subtract
(``Operator.regroups``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...core.arrays import Array, dtype_named, unit_roundoff
from ...operators.functions.spec import Operator
from ...operators.reference.numbers import FLOAT
from ...operators.reference.rounding import K
from ...operators.spec import Params

#: Infinity, approached: far enough that only what grows for ever still grows.
_APPROACHES = (1e20, 1e40, 1e80)
#: Growth from one of them to the next: that of a logarithm, with room to spare.
_GROWS = 1.5
#: What stands in for NaN: whatever depends on it shows by one of them.
_STAND_INS = (0.375, 1e6, -1e6)
#: Finite answers are compared coarsely: the search for large errors is another matter.
_COARSE = 0.1


def special(arrays: Sequence[Array]) -> bool:
    """Whether any of the arrays holds NaN or an infinity."""
    return any(not np.isfinite(array.astype(np.float64)).all() for array in arrays)


def wrong_elements(operator: Operator, params: Params, arrays: Sequence[Array], actual: Array, dtype: str) -> Array:
    """Which elements of an output are none of the right answers.

    Args:
        arrays: the operands in float64, in the operator's order.
    """
    with np.errstate(all="ignore"):
        found = ~_right(actual, operator.evaluate(params, arrays).value, _slack(operator, params, arrays, dtype), dtype)
        for row in np.flatnonzero(found.reshape(len(found), -1).any(axis=1)).tolist():
            # Alone: a reference that writes windows as matrices lets a NaN into the other rows.
            found[row] = _missed_alone(operator, params, _row(operator, arrays, row), actual[row : row + 1], dtype)[0]
    return found


def _missed_alone(operator: Operator, params: Params, arrays: Sequence[Array], actual: Array, dtype: str) -> Array:
    slack = _slack(operator, params, arrays, dtype)
    found, infinite = np.ones(actual.shape, bool), np.zeros(actual.shape, bool)
    for answer in _answers(operator, params, arrays):
        found &= ~_right(actual, answer, slack, dtype)
        infinite |= np.isinf(answer)
    beside = _beside_nan(arrays, actual.shape)
    silent = beside | infinite if operator.regroups else beside
    if operator.weighed_by_zero is not None:
        silent = silent | operator.weighed_by_zero(FLOAT, *arrays)
    found &= ~(np.isnan(actual.astype(np.float64)) & silent)
    return found & ~beside if operator.by_cases else found


def _answers(operator: Operator, params: Params, arrays: Sequence[Array]) -> Iterator[Array]:
    def value(changed: Sequence[Array]) -> Array:
        return np.asarray(operator.evaluate(params, changed).value, np.float64)

    def limit(changed: Sequence[Array]) -> Array:
        return _limit([value([_without_infinities(array, size) for array in changed]) for size in _APPROACHES])

    filled = [_without_nan(operator, arrays, number) for number in _STAND_INS]
    for answer in (value, limit):
        yield answer(arrays)
        if any(np.isnan(array).any() for array in arrays):
            first, *others = (answer(changed) for changed in filled)
            yield np.where(np.all([other == first for other in others], axis=0), first, np.nan)


def _limit(values: Sequence[Array]) -> Array:
    """What three values tend to; NaN where they tend to nothing."""
    first, second, third = values
    settled = np.isinf(third) | (np.abs(third - second) <= 1e-9 * np.abs(third))
    growing = (second / first > _GROWS) & (third / second > _GROWS)
    vanishing = (np.abs(second) * _GROWS < np.abs(first)) & (np.abs(third) * _GROWS < np.abs(second))
    limit = np.where(growing, np.copysign(np.inf, third), np.where(settled, third, np.nan))
    return np.where(vanishing | (third == 0), 0.0, limit)


def _without_nan(operator: Operator, arrays: Sequence[Array], number: float) -> list[Array]:
    """A number of the operand's domain in place of every NaN."""
    pairs = zip(operator.operands, arrays, strict=True)
    return [np.where(np.isnan(array), np.clip(number, operand.low, operand.high), array) for operand, array in pairs]


def _without_infinities(array: Array, size: float) -> Array:
    return np.where(np.isinf(array), np.copysign(size, array), array)


def _row(operator: Operator, arrays: Sequence[Array], row: int) -> list[Array]:
    pairs = zip(operator.operands, arrays, strict=True)
    return [array[row : row + 1] if operand.stacked else array for operand, array in pairs]


def _slack(operator: Operator, params: Params, arrays: Sequence[Array], dtype: str) -> Array:
    kappa = np.asarray(operator.evaluate(params, arrays).kappa, np.float64)
    return np.where(np.isfinite(kappa), kappa, 0.0) * K * (unit_roundoff(dtype) or 0.0)


def _right(actual: Array, value: Array, slack: Array, dtype: str) -> Array:
    y = actual.astype(np.float64)
    true = np.asarray(value, np.float64).astype(dtype_named(dtype)).astype(np.float64)
    near = np.abs(y - true) <= _COARSE * (1 + np.abs(true)) + slack
    same = (y == true) | (np.isnan(y) & np.isnan(true))
    return np.asarray(np.where(np.isfinite(y) & np.isfinite(true), near, same))


def _beside_nan(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Where an operand of the output's shape has a NaN."""
    found = np.zeros(shape, bool)
    for array in arrays:
        if array.shape == shape:
            found |= np.isnan(array)
    return found
