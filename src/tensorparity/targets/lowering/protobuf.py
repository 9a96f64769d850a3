"""ONNX models as bytes, written by hand: the host needs no ``onnx`` package for the few messages it sends.

Fields are written in ascending order and repeated numbers unpacked, as the official encoder does, so that
equal models are equal bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.onnx.model import DATA_TYPES
from ...core.onnx.wire import FOUR_BYTES, Buffer, delimited_field, integer, integers, key, messages, text, varint

__all__ = [
    "DATA_TYPES",
    "Attribute",
    "attribute",
    "graph",
    "model",
    "node",
    "tensor",
    "untyped_value",
    "value_info",
    "varint",
]

#: An attribute of an operator.
Attribute = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]

#: AttributeProto.AttributeType.
_FLOAT, _INT, _STRING, _FLOATS, _INTS, _STRINGS = 1, 2, 3, 6, 7, 8


def _float(number: int, value: float) -> bytes:
    with np.errstate(over="ignore"):  # beyond float32 is infinity, as for any other constant
        return key(number, FOUR_BYTES) + struct.pack("<f", np.float32(value))


def tensor(name: str, array: Array) -> bytes:
    """A TensorProto; the values as raw little-endian bytes."""
    data_type = DATA_TYPES[array.dtype.name]
    raw = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()
    return integers(1, array.shape) + integer(2, data_type) + text(8, name) + delimited_field(9, raw)


def untyped_value(name: str) -> bytes:
    """A ValueInfoProto that leaves type and shape to the runtime's own inference."""
    return text(1, name)


def value_info(name: str, dtype: str, shape: Sequence[int | None]) -> bytes:
    """A ValueInfoProto of a tensor; a size of None may be any."""
    dimensions = messages(1, (b"" if size is None else integer(1, size) for size in shape))
    tensor_type = integer(1, DATA_TYPES[dtype]) + delimited_field(2, dimensions)
    return text(1, name) + delimited_field(2, delimited_field(1, tensor_type))


def attribute(name: str, value: Attribute) -> bytes:
    """An AttributeProto; its type follows from the Python type."""
    if isinstance(value, str):
        return text(1, name) + text(4, value) + integer(20, _STRING)
    if isinstance(value, int):
        return text(1, name) + integer(3, value) + integer(20, _INT)
    if isinstance(value, float):
        return text(1, name) + _float(2, value) + integer(20, _FLOAT)
    words = [item for item in value if isinstance(item, str)]
    if words:
        return text(1, name) + b"".join(text(9, word) for word in words) + integer(20, _STRINGS)
    if any(isinstance(item, float) for item in value):
        return text(1, name) + b"".join(_float(7, float(item)) for item in value) + integer(20, _FLOATS)
    return text(1, name) + integers(8, [item for item in value if isinstance(item, int)]) + integer(20, _INTS)


def node(
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute],
    name: str,
    domain: str = "",
) -> bytes:
    """A NodeProto; an empty input name leaves an optional input out."""
    parts = [text(1, item) for item in inputs]
    parts += [text(2, item) for item in outputs]
    parts += [text(3, name), text(4, op)]
    parts += [delimited_field(5, attribute(key, value)) for key, value in sorted(attributes.items())]
    parts += [text(7, domain)] if domain else []
    return b"".join(parts)


def graph(
    name: str,
    nodes: Iterable[Buffer],
    initializers: Iterable[Buffer],
    inputs: Iterable[Buffer],
    outputs: Iterable[Buffer],
) -> bytes:
    """A GraphProto."""
    return b"".join(
        (messages(1, nodes), text(2, name), messages(5, initializers), messages(11, inputs), messages(12, outputs))
    )


def model(graph: bytes, *, ir_version: int, opset: int, producer: str, domain: str = "") -> bytes:
    """A ModelProto that imports one version of the operators of one domain, the standard's by default."""
    operators = text(1, domain) + integer(2, opset)
    return b"".join(
        (integer(1, ir_version), text(2, producer), delimited_field(7, graph), delimited_field(8, operators))
    )
