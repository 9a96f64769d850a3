"""Protocol buffers on the wire, read and written by hand.

A field is its number and a type, then a varint, four or eight bytes, or a length and that many bytes.
Reading copies nothing: bytes stay views of the message they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5

_WIDTHS = {EIGHT_BYTES: 8, FOUR_BYTES: 4}

Buffer = bytes | memoryview


class WireError(ValueError):
    """These bytes are no message; the message says where and why."""


# Writing


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


def key(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def integer(number: int, value: int) -> bytes:
    return key(number, VARINT) + varint(value)


def integers(number: int, values: Iterable[int]) -> bytes:
    return b"".join(integer(number, int(value)) for value in values)


def delimited_field(number: int, value: Buffer) -> bytes:
    """A field of bytes: a string, a message, raw data."""
    return b"".join((key(number, LENGTH), varint(len(value)), value))


def text(number: int, value: str) -> bytes:
    return delimited_field(number, value.encode())


def messages(number: int, values: Iterable[Buffer]) -> bytes:
    return b"".join(delimited_field(number, value) for value in values)


# Reading


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message; ``raw`` is all of it, number and type included, ready to be written again."""

    number: int
    wire_type: int
    value: int | memoryview
    raw: memoryview

    @property
    def integer(self) -> int:
        """A signed integer of 64 bits."""
        if not isinstance(self.value, int):
            raise WireError(f"field {self.number} is of wire type {self.wire_type}, expected an integer")
        return self.value - 2**64 if self.value >= 2**63 else self.value

    @property
    def bytes(self) -> memoryview:
        if self.wire_type != LENGTH or isinstance(self.value, int):
            raise WireError(f"field {self.number} is of wire type {self.wire_type}, expected bytes")
        return self.value

    @property
    def text(self) -> str:
        try:
            return str(self.bytes, "utf-8")
        except UnicodeDecodeError as error:
            raise WireError(f"field {self.number} is not UTF-8: {error.reason}") from error

    @property
    def integers(self) -> list[int]:
        """Repeated integers, packed or not."""
        if isinstance(self.value, int):
            return [self.integer]
        found, position = [], 0
        while position < len(self.bytes):
            value, position = _read_varint(self.bytes, position)
            found.append(value - 2**64 if value >= 2**63 else value)
        return found

    @property
    def floats(self) -> list[float]:
        """Repeated float32, packed or not."""
        if isinstance(self.value, int) or self.wire_type == EIGHT_BYTES or len(self.value) % 4:
            raise WireError(f"field {self.number} is of wire type {self.wire_type}, expected float32")
        return [float(str(number)) for number in np.frombuffer(self.value, "<f4")]


def read_fields(message: Buffer) -> Iterator[Field]:
    """The fields of a message, in the order they are written.

    Raises:
        WireError: where the bytes are cut off or cannot be a message.
    """
    view = memoryview(message)
    position, end = 0, len(view)
    while position < end:
        start = position
        tag, position = _read_varint(view, position)
        number, wire_type = tag >> 3, tag & 7
        value: int | memoryview
        if wire_type == VARINT:
            value, position = _read_varint(view, position)
        elif wire_type == LENGTH or wire_type in _WIDTHS:
            size = _WIDTHS.get(wire_type, 0)
            if wire_type == LENGTH:
                size, position = _read_varint(view, position)
            if size > end - position:
                raise WireError(f"field {number} needs {size} bytes where {end - position} are left")
            value = view[position : position + size]
            position += size
        else:
            raise WireError(f"field {number} is of wire type {wire_type}, which does not exist here")
        if not 0 < number < 2**29:
            raise WireError(f"there is no field {number}")
        yield Field(number, wire_type, value, view[start:position])


def _read_varint(view: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(view):
            raise WireError("it ends within a number")
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
        shift += 7
        if shift > 63:
            raise WireError("a number has more than 64 bits")
