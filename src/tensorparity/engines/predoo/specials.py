"""Inputs that hold NaN and infinities: what an operator makes of them is asked once, not searched for.

There are few such values, so all that differs is tried: every operand full of one, two operands full of one each, and
a single one among ordinary numbers, which must not touch what does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ...generators.inputs.operators import draw
from ...operators.functions.spec import Operand, Operator, Sizes
from .batch import InputBatch, shared_arrays

#: Which operand holds what: in all of its elements, or in one of them.
_Plan = tuple[Mapping[str, float], bool]


def special_batch(
    operator: Operator, dtype: str, shape: Sizes, params: Mapping[str, Json], rng: np.random.Generator, rows: int
) -> InputBatch:
    """So many inputs with NaN and infinities; ordinary ones after them where there are fewer kinds."""
    sizes = operator.sizes(params, shape)
    stacked = [operand for operand in operator.operands if operand.stacked]
    arrays: dict[str, Array] = {
        operand.name: draw("normal", rng, (rows, *sizes[operand.name]), operand, dtype, middle=operator.accumulates)
        for operand in stacked
    }
    for row, (values, everywhere) in zip(range(rows), _plans(stacked), strict=False):
        for name, value in values.items():
            flat = arrays[name][row].reshape(-1)
            flat[slice(None) if everywhere else rng.integers(flat.size)] = value
    arrays.update(shared_arrays(operator, sizes, rng, dtype))
    ordered = {operand.name: arrays[operand.name] for operand in operator.operands}
    return InputBatch(params, ordered, tuple(range(rows)))


def _plans(operands: list[Operand]) -> Iterator[_Plan]:
    for operand in operands:
        yield from (({operand.name: value}, True) for value in _inside(operand))
    if len(operands) == 2:
        first, second = operands
        yield from (({first.name: a, second.name: b}, True) for a, b in product(_inside(first), _inside(second)))
    for operand in operands:
        yield from (({operand.name: value}, False) for value in _inside(operand))


def _inside(operand: Operand) -> list[float]:
    """NaN, and the infinities that the operand's domain reaches."""
    ends = ((math.inf, operand.high), (-math.inf, operand.low))
    return [math.nan, *(value for value, end in ends if end == value)]
