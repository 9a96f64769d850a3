"""Which numbers an integer input of an ONNX model may hold: what Gather and OneHot behind it allow."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import numpy as np

from ...core.onnx.model import OnnxGraph, OnnxNode
from ...core.onnx.wire import WireError, read_fields
from ..inputs.models import Draw

#: What changes the shape or the dtype of indices, and none of them.
_PASSING = frozenset(["Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose", "Expand"])
_GATHERS = frozenset(["Gather", "GatherElements"])
_DIMS, _DATA_TYPE, _INT32_DATA, _INT64_DATA, _RAW_DATA = 1, 2, 5, 7, 9
_INT32, _INT64 = 6, 7
_SHAPE = re.compile(r"tensor of shape \(([\d, ]*)\)")


def index_draws(graph: OnnxGraph) -> dict[str, Draw]:
    """Of every integer input that ends up as indices: from 0 to the largest that all of its uses take."""
    found: dict[str, Draw] = {}
    for value in graph.inputs:
        if not value.dtype.startswith(("int", "uint")):
            continue
        limits = list(_limits(graph, value.name))
        if limits:
            size, op = min(limits)
            found[value.name] = Draw(low=0, high=size - 1, whole=True, source=f"what {op} behind it takes")
    return found


def _limits(graph: OnnxGraph, name: str) -> Iterator[tuple[int, str]]:
    """How many there are to choose from, at each place where the input is used as indices."""
    alike = {name}
    for node in graph.nodes:
        if node.op in _PASSING and node.inputs and node.inputs[0] in alike:
            alike |= set(node.outputs)
        elif node.op in _GATHERS and len(node.inputs) > 1 and node.inputs[1] in alike:
            size = _size_along(_dims(graph, node.inputs[0]), node.attributes)
            if size:
                yield size, node.op
        elif node.op == "OneHot" and len(node.inputs) > 1 and node.inputs[0] in alike:
            depth = _number(graph, node.inputs[1])
            if depth:
                yield depth, node.op


def _size_along(dims: tuple[int, ...], attributes: Mapping[str, object]) -> int:
    axis = attributes.get("axis", 0)
    return dims[axis] if isinstance(axis, int) and -len(dims) <= axis < len(dims) else 0


def _dims(graph: OnnxGraph, tensor: str) -> tuple[int, ...]:
    """The shape of a table; nothing where it is computed."""
    if tensor in graph.initializers:
        return _tensor(graph.initializers[tensor])[0]
    node = _constant(graph, tensor)
    shape = _SHAPE.search(str(node.attributes.get("value", ""))) if node else None
    return tuple(int(size) for size in shape[1].split(",") if size.strip()) if shape else ()


def _number(graph: OnnxGraph, tensor: str) -> int:
    """The value of a tensor of one integer; 0 where it is not known."""
    if tensor not in graph.initializers:
        return 0
    dims, values = _tensor(graph.initializers[tensor])
    return int(values[0]) if math.prod(dims) == 1 and len(values) == 1 else 0


def _constant(graph: OnnxGraph, tensor: str) -> OnnxNode | None:
    return next((node for node in graph.nodes if node.op == "Constant" and tensor in node.outputs), None)


def _tensor(field: memoryview) -> tuple[tuple[int, ...], list[int]]:
    """Shape and, of integers, values of an initializer."""
    dims: list[int] = []
    values: list[int] = []
    kind, raw = 0, b""
    try:
        (whole,) = read_fields(field)
        for part in read_fields(whole.bytes):
            if part.number == _DIMS:
                dims += part.integers
            elif part.number == _DATA_TYPE:
                kind = part.integer
            elif part.number in (_INT32_DATA, _INT64_DATA):
                values += part.integers
            elif part.number == _RAW_DATA and math.prod(dims) == 1:
                raw = bytes(part.bytes)
    except (WireError, ValueError):
        return (), []
    if raw and kind in (_INT32, _INT64):
        values = [int(item) for item in np.frombuffer(raw, np.int32 if kind == _INT32 else np.int64)]
    return tuple(dims), values
