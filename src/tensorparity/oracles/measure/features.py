"""What is special about the inputs of a reduced case: part of the signature, for reduction would have removed it."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from ...core.arrays import Array, dtype_name, is_floating
from ...core.case import Case
from ...core.graph import LayerGraph
from ...core.verdict import Stage
from ...operators.catalogue import has_layer, layer


def features(case: Case, stage: Stage) -> tuple[str, ...]:
    """The features of the inputs, in a fixed order; none for plain numbers."""
    found = {name for array in case.inputs.values() for name in _of_array(array)}
    if stage is Stage.BACKWARD and _knows_ties(case) and any(_has_tie(array) for array in case.inputs.values()):
        found.add("tie")
    return tuple(sorted(found))


def _of_array(array: Array) -> Iterator[str]:
    if array.size == 0:
        yield "empty"
        return
    dtype = dtype_name(array)
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        if array.max() == limits.max or (array.dtype.kind == "i" and array.min() == limits.min):
            yield "integer extreme"
    elif is_floating(dtype) and array.dtype.kind != "c":
        yield from _of_floats(np.abs(array.astype(np.float64)), ml_dtypes.finfo(array.dtype))  # type: ignore[no-untyped-call]


def _of_floats(size: Array, limits: object) -> Iterator[str]:
    if np.isnan(size).any():
        yield "NaN"
    if np.isinf(size).any():
        yield "infinity"
    finite = size[np.isfinite(size)]
    if (finite > np.sqrt(float(limits.max))).any():  # type: ignore[attr-defined]
        yield "overflow"  # its square is beyond the dtype
    if ((finite > 0) & (finite < float(limits.smallest_normal))).any():  # type: ignore[attr-defined]
        yield "subnormal"


def _knows_ties(case: Case) -> bool:
    graph = case.subject
    nodes = graph.nodes if isinstance(graph, LayerGraph) else ()
    return any("tie" in hazard for node in nodes if has_layer(node.op) for hazard in layer(node.op).hazards)


def _has_tie(array: Array) -> bool:
    return array.size > len(np.unique(array))
