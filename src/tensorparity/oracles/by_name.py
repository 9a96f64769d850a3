"""NumPy's or SciPy's function of a call's name: it counts where ordinary numbers show that both mean the same."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array, dtype_name, is_floating, unit_roundoff
from ..core.call import ApiCall
from ..core.case import Case
from ..core.channels import same
from ..core.rule import Demands
from ..operators.functions.peers import named_value
from ..operators.reference.rounding import K
from .call_rows import Row
from .row_difference import compared

#: Numbers of ordinary size, and whole numbers.
_LEAST, _MOST, _MOST_WHOLE = 1e-3, 1e3, 1000
_VALUES = Demands(dtypes=False)


def is_ordinary(case: Case) -> bool:
    """Whether no function minds its numbers."""
    for array in case.inputs.values():
        if array.dtype.kind in "iu":
            if array.size and np.abs(array.astype(np.float64)).max() > _MOST_WHOLE:
                return False
        elif array.dtype.kind != "b":
            size = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
            if not bool(((size >= _LEAST) & (size <= _MOST)).all()):
                return False
    return all(array.size for array in case.inputs.values())


def value_by_name(case: Case) -> Array | None:
    """What NumPy's or SciPy's function of that name gives; None where neither takes these arguments."""
    call = case.subject
    assert isinstance(call, ApiCall)
    return named_value(call, case.inputs)


def equals_by_name(array: Array, value: Array) -> bool:
    """Whether an answer is that value, in its own dtype and up to what formulas lose."""
    if array.shape != value.shape or array.dtype.kind not in "fciub":
        return False
    narrow = value.astype(array.dtype) if is_floating(dtype_name(array)) else value
    apart = compared(None, Row({"0": array}), Row({"0": narrow}), _VALUES)
    unit = unit_roundoff(dtype_name(array)) if is_floating(dtype_name(array)) else 0.0
    return (
        apart is None
        or (apart.relative is not None and apart.relative <= K * K * unit)
        or bool(same(array, narrow).all())
    )
