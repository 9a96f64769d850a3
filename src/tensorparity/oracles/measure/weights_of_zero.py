"""NaN and infinities that reach an output through a weight of exactly 0 alone, or from a masked place: nobody's fault.

The reference multiplies as the formula is written, and 0 times NaN is NaN. An element whose true value stays the same
whatever number stands in place of what is not finite does not depend on it: there a number is as right as NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.arrays import Array, dtype_name, is_floating
from ...core.case import Case
from ...core.channels import is_finite, is_nan
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph
from ...operators.masks_and_states import MasksAndStates
from ...operators.reference.evaluate import evaluate
from ...operators.spec import Evaluation, ShapeError
from .documented_freedoms import WEIGHED_BY_ZERO, FreeElements

#: What stands in for NaN and infinities: whatever depends on them shows by one of these.
_STAND_INS = (0.375, 1e6, -1e6)
#: Larger cases are not evaluated so many times over.
_MOST_NUMBERS = 1 << 16


def not_finite_by_zero(case: Case, truth: Sequence[Evaluation]) -> FreeElements | None:
    """The elements of a layer's only output that are NaN by the formula and free all the same; None without any."""
    if not isinstance(case.subject, LayerGraph) or len(truth) != 1 or not _concerned(case, truth[0]):
        return None
    try:
        values = [_value_with(case, number) for number in _STAND_INS]
    except (TensorParityError, ShapeError, KeyError):
        return None
    steady = is_finite(values[0]) & (values[0] == values[1]) & (values[0] == values[2])
    mask = np.asarray(is_nan(truth[0].value) & steady)
    if not mask.any():
        return None
    return FreeElements(WEIGHED_BY_ZERO, mask, tuple(case.inputs.values()), values[0])


def _concerned(case: Case, truth: Evaluation) -> bool:
    arrays = list(case.inputs.values())
    special = any(not is_finite(array).all() for array in arrays)
    small = sum(array.size for array in case.arrays().values()) <= _MOST_NUMBERS
    return special and small and _is_real(truth.value) and bool(is_nan(truth.value).any())


def _is_real(array: Array) -> bool:
    """Floating numbers of any width, also those that NumPy does not know."""
    return is_floating(dtype_name(array)) and array.dtype.kind != "c"


def _value_with(case: Case, number: float) -> Array:
    """The output with another number in place of everything that is not finite."""
    assert isinstance(case.subject, LayerGraph)
    inputs = {name: _tamed(array, number) for name, array in case.inputs.items()}
    found = evaluate(case.subject, inputs, case.weights, dtype=case.procedure.dtype, beside=MasksAndStates())
    ref = case.subject.outputs[0]
    node = next(node for node in case.subject.nodes if node.name == ref.node)
    return np.asarray(found[node.key][ref.index].value)


def _tamed(array: Array, number: float) -> Array:
    if not _is_real(array):
        return array
    return np.where(is_finite(array), array, np.asarray(number, array.dtype))
