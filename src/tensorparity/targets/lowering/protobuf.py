"""ONNX models as bytes, written by hand: the host needs no ``onnx`` package for the few messages it sends.

Protocol buffers are simple on the wire: a field is its number and a type, then a varint, four bytes, or a
length and that many bytes. Fields are written in ascending order and repeated numbers unpacked, as the
official encoder does, so that equal models are equal bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...core.arrays import Array

#: An attribute of an operator.
Attribute = int | float | str | Sequence[int]

_VARINT, _LENGTH, _FOUR_BYTES = 0, 2, 5

#: TensorProto.DataType by NumPy's name.
DATA_TYPES = {"float32": 1, "uint8": 2, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11}

#: AttributeProto.AttributeType.
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7


# The wire


def varint(value: int) -> bytes:
    """Seven bits a byte, lowest first; a negative number is its 64-bit two's complement."""
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"value: expected an integer of 64 bits. Received: {value}")
    rest = value % 2**64
    found = bytearray()
    while rest > 0x7F:
        found.append(0x80 | (rest & 0x7F))
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _key(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def _integer(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + varint(value)


def _integers(number: int, values: Iterable[int]) -> bytes:
    return b"".join(_integer(number, int(value)) for value in values)


def _float(number: int, value: float) -> bytes:
    with np.errstate(over="ignore"):  # beyond float32 is infinity, as for any other constant
        return _key(number, _FOUR_BYTES) + struct.pack("<f", np.float32(value))


def _bytes(number: int, value: bytes) -> bytes:
    return b"".join((_key(number, _LENGTH), varint(len(value)), value))


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _messages(number: int, values: Iterable[bytes]) -> bytes:
    return b"".join(_bytes(number, value) for value in values)


# ONNX


def tensor(name: str, array: Array) -> bytes:
    """A TensorProto; the values as raw little-endian bytes."""
    data_type = DATA_TYPES[array.dtype.name]
    raw = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()
    return _integers(1, array.shape) + _integer(2, data_type) + _text(8, name) + _bytes(9, raw)


def value_info(name: str, dtype: str, shape: Sequence[int]) -> bytes:
    """A ValueInfoProto of a tensor whose sizes are all known."""
    dimensions = _messages(1, (_integer(1, size) for size in shape))
    tensor_type = _integer(1, DATA_TYPES[dtype]) + _bytes(2, dimensions)
    return _text(1, name) + _bytes(2, _bytes(1, tensor_type))


def attribute(name: str, value: Attribute) -> bytes:
    """An AttributeProto; its type follows from the Python type."""
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _integer(20, _STRING)
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, _INT)
    if isinstance(value, float):
        return _text(1, name) + _float(2, value) + _integer(20, _FLOAT)
    return _text(1, name) + _integers(8, value) + _integer(20, _INTS)


def node(
    op: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Attribute], name: str
) -> bytes:
    """A NodeProto of the standard domain; an empty input name leaves an optional input out."""
    parts = [_text(1, item) for item in inputs]
    parts += [_text(2, item) for item in outputs]
    parts += [_text(3, name), _text(4, op)]
    parts += [_bytes(5, attribute(key, value)) for key, value in sorted(attributes.items())]
    return b"".join(parts)


def graph(
    name: str,
    nodes: Iterable[bytes],
    initializers: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
) -> bytes:
    """A GraphProto."""
    return b"".join(
        (_messages(1, nodes), _text(2, name), _messages(5, initializers), _messages(11, inputs), _messages(12, outputs))
    )


def model(graph: bytes, *, ir_version: int, opset: int, producer: str) -> bytes:
    """A ModelProto that imports one version of the standard operators."""
    standard_operators = _text(1, "") + _integer(2, opset)
    return b"".join((_integer(1, ir_version), _text(2, producer), _bytes(7, graph), _bytes(8, standard_operators)))
