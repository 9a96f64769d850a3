"""Plain dtypes: no policy of its own, float32 for floats and int32 for integers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.arrays import Array, dtype_name, is_floating
from ...core.case import Case
from ...core.graph import LayerGraph
from ...operators.functions.native import case_operator
from ...oracles.measure.editing import with_arrays
from .reducer import Attempts


def simplify_dtypes(attempts: Attempts) -> None:
    if case_operator(attempts.case) is not None:
        return  # of an operator, the dtype is what it is wrong in
    attempts.first([_plain(attempts.case), _without_policy(attempts.case), _plain_arrays(attempts.case)])


def _plain(case: Case) -> Case:
    return _without_policy(_plain_arrays(case))


def _without_policy(case: Case) -> Case:
    return replace(case, procedure=replace(case.procedure, dtype=None))


def _plain_arrays(case: Case) -> Case:
    groups = {group: {name: _cast(array) for name, array in getattr(case, group).items()} for group in Case.GROUPS}
    subject = case.subject
    if isinstance(subject, LayerGraph):
        specs = tuple(replace(item, dtype=_plain_name(item.dtype)) for item in subject.inputs)
        subject = replace(subject, inputs=specs)
    return with_arrays(replace(case, subject=subject), groups)


def _plain_name(name: str) -> str:
    if is_floating(name) and not name.startswith("complex"):
        return "float32"
    return "int32" if name.startswith(("int", "uint")) else name


def _cast(array: Array) -> Array:
    wanted = _plain_name(dtype_name(array))
    with np.errstate(all="ignore"):
        return array if wanted == dtype_name(array) else array.astype(wanted)
