"""Frames between host and worker: JSON header plus raw array bytes, checked, capped, never pickled.

A frame is a fixed preamble (magic, version, kind, request id, lengths, checksum), a UTF-8 JSON
header padded to 64 bytes, and a body of arrays, each aligned to 64 bytes, in the reader's memory as
well: kernels are chosen by alignment too. The header's ``arrays`` entry describes them:

* non-finite floats in the header travel as ``{"$float": "nan"}``;
* dense arrays by dtype name and shape; bfloat16 and float8 as their bits, with the logical dtype;
* strings as UTF-8 data and offsets; sparse and ragged tensors as named parts.

Shared by host and worker, so it obeys the worker's rules: Python 3.6, NumPy only.
"""

import itertools
import json
import os
import struct
import zlib
from collections import deque
from typing import Any, Dict, List, Optional

import numpy as np

MAGIC = b"TPAR"
VERSION = 1

REQUEST, RESPONSE = 1, 2

_PREAMBLE = struct.Struct("<4sHHQIQI")
_ALIGN = 64
_IOVECS = 512  # buffers per write; systems allow 1024

#: Caps. A frame beyond them is garbage or an attack, not work.
MAX_HEADER_BYTES = 64 << 20
MAX_BODY_BYTES = 8 << 30

#: Dtypes that travel as they are. By name from this list and no other way: NumPy parses far more.
DTYPES = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    + ["float16", "float32", "float64", "complex64", "complex128"]
)

#: Logical dtypes that NumPy lacks, with the integer type their bits travel as.
BIT_DTYPES = {
    "bfloat16": "uint16",
    "float8_e4m3fn": "uint8",
    "float8_e5m2": "uint8",
}


class ProtocolError(Exception):
    """What arrived is not a frame of ours, or what was to be sent cannot be one."""


class Bits(object):
    """An array of a dtype NumPy lacks: the bits, and the logical dtype's name."""

    def __init__(self, dtype, bits):
        self.dtype = dtype
        self.bits = bits

    def __len__(self):
        return len(self.bits)


class Sparse(object):
    """A sparse tensor in coordinate form: indices [n, rank], values [n], dense shape."""

    PARTS = ("indices", "values", "dense_shape")

    def __init__(self, indices, values, dense_shape):
        self.indices = indices
        self.values = values
        self.dense_shape = dense_shape


class Ragged(object):
    """A ragged tensor: flat values and the row splits of its one ragged axis."""

    PARTS = ("values", "row_splits")

    def __init__(self, values, row_splits):
        self.values = values
        self.row_splits = row_splits


_COMPOSED = {"sparse": Sparse, "ragged": Ragged}


class Frame(object):
    """One message, decoded."""

    def __init__(self, kind: int, request_id: int, header: Dict[str, Any], arrays: Dict[str, Any]) -> None:
        self.kind = kind
        self.request_id = request_id
        self.header = header
        self.arrays = arrays


class _BodyWriter(object):
    """Collects buffers and their descriptions without copying the arrays."""

    def __init__(self):
        self.buffers = []
        self.size = 0

    def add(self, name, value):
        if isinstance(value, Bits):
            return self._bits(name, value)
        for kind, cls in _COMPOSED.items():
            if isinstance(value, cls):
                parts = [self.add(part, getattr(value, part)) for part in cls.PARTS]
                return {"name": name, "kind": kind, "parts": parts}
        array = np.asarray(value)
        if array.dtype.kind in "UOS":
            return self._strings(name, array)
        if array.dtype.name in BIT_DTYPES:
            bits = np.ascontiguousarray(array).view(BIT_DTYPES[array.dtype.name])
            return self._dense(name, bits.reshape(array.shape), array.dtype.name)
        if array.dtype.name not in DTYPES:
            raise ProtocolError("array {!r} has dtype {}, which does not travel".format(name, array.dtype))
        return self._dense(name, array, array.dtype.name)

    def _bits(self, name, value):
        bits = np.asarray(value.bits)
        if BIT_DTYPES.get(value.dtype) != bits.dtype.name:
            raise ProtocolError("array {!r}: bits of {} do not travel as {}".format(name, value.dtype, bits.dtype))
        return self._dense(name, bits, value.dtype)

    def _dense(self, name, array, dtype):
        array = np.asarray(array)
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("<"))
        shape = list(array.shape)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8) if array.size else np.zeros(0, np.uint8)
        offset = self._append(memoryview(flat))
        return {"name": name, "kind": "dense", "dtype": dtype, "shape": shape, "offset": offset, "nbytes": flat.size}

    def _strings(self, name, array):
        encoded = [_utf8(item) for item in array.ravel().tolist()]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        if encoded:
            offsets[1:] = np.cumsum([len(item) for item in encoded])
        data = np.frombuffer(b"".join(encoded), np.uint8)
        parts = [self._dense("data", data, "uint8"), self._dense("offsets", offsets, "int64")]
        return {"name": name, "kind": "string", "shape": list(array.shape), "parts": parts}

    def _append(self, view):
        padding = -self.size % _ALIGN
        if padding:
            self.buffers.append(memoryview(bytes(padding)))
        offset = self.size + padding
        if len(view):
            self.buffers.append(view)
        self.size = offset + len(view)
        return offset


def _tagged(value):
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"$float": repr(value)}
    if isinstance(value, dict):
        return {str(key): _tagged(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tagged(item) for item in value]
    return value


def _untagged(entry):
    return float(entry["$float"]) if len(entry) == 1 and "$float" in entry else entry


def _utf8(item):
    try:
        if isinstance(item, bytes):
            item.decode("utf-8")
            return item
        if isinstance(item, str):
            return item.encode("utf-8")
    except UnicodeError as error:
        raise ProtocolError("a string is not UTF-8: {}".format(error))
    raise ProtocolError("an object array holds a {}, only strings travel".format(type(item).__name__))


def encode(kind: int, request_id: int, header: Any, arrays: Any = None) -> List[memoryview]:
    """Return the frame as a list of buffers, ready for ``writev``; array bytes are not copied.

    Raises:
        ProtocolError: if the header is not JSON, or an array is of a kind that does not travel.
    """
    body = _BodyWriter()
    described = dict(header)
    described["arrays"] = [body.add(name, value) for name, value in (arrays or {}).items()]
    try:
        text = json.dumps(_tagged(described), allow_nan=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolError("the header is not JSON: {}".format(error))
    text += b" " * (-len(text) % _ALIGN)
    _check_caps(len(text), body.size, (MAX_HEADER_BYTES, MAX_BODY_BYTES))
    checksum = zlib.crc32(text)
    for view in body.buffers:
        checksum = zlib.crc32(view, checksum)
    preamble = _PREAMBLE.pack(MAGIC, VERSION, kind, request_id, len(text), body.size, checksum & 0xFFFFFFFF)
    return [memoryview(preamble), memoryview(text)] + body.buffers


def write_some(fd: int, buffers: Any) -> None:
    """Write what the descriptor takes in one call: many small writes would wake the reader for each."""
    written = os.writev(fd, list(itertools.islice(buffers, _IOVECS)))
    while buffers and written >= len(buffers[0]):
        written -= len(buffers.popleft())
    if written:
        buffers[0] = buffers[0][written:]


def _check_caps(header_size, body_size, caps):
    for what, size, cap in zip(("header", "body"), (header_size, body_size), caps):
        if size > cap:
            raise ProtocolError("a {} of {} bytes is beyond the cap of {}".format(what, size, cap))


class FrameReader(object):
    """Assembles frames from whatever sizes the pipe gives.

    Ask ``wanted()`` for the buffer to fill, fill some of it, tell ``advance(count)``; a Frame comes
    back when one is complete. Raises ProtocolError as soon as the bytes cannot be a frame of ours.

    Args:
        dtypes: maps logical dtype names to NumPy dtypes where the process has them; the others
            arrive as Bits.
    """

    def __init__(self, dtypes: Any = None, max_header: int = MAX_HEADER_BYTES, max_body: int = MAX_BODY_BYTES) -> None:
        self._dtypes = dtypes or {}
        self._caps = (max_header, max_body)
        self._restart()

    def _restart(self):
        self._preamble = None
        self._expect(_PREAMBLE.size)

    def _expect(self, size):
        try:
            self._buffer = _aligned(size)
        except MemoryError:
            raise ProtocolError("there is no memory for a frame of {} bytes".format(size))
        self._filled = 0

    @property
    def idle(self) -> bool:
        """No frame has been begun."""
        return self._preamble is None and self._filled == 0

    def wanted(self) -> memoryview:
        return memoryview(self._buffer)[self._filled :]

    def advance(self, count: int) -> "Optional[Frame]":
        self._filled += count
        if self._filled < len(self._buffer):
            return None
        if self._preamble is None:
            self._begin()
            return None
        return self._finish()

    def _begin(self):
        magic, version, kind, request_id, header_size, body_size, checksum = _PREAMBLE.unpack(self._buffer.tobytes())
        if magic != MAGIC:
            raise ProtocolError("not a frame: it begins with {!r}".format(bytes(magic)))
        if version != VERSION:
            raise ProtocolError("protocol version {} arrived, version {} is spoken here".format(version, VERSION))
        _check_caps(header_size, body_size, self._caps)
        self._preamble = (kind, request_id, header_size, checksum)
        self._expect(header_size + body_size)

    def _finish(self):
        kind, request_id, header_size, checksum = self._preamble
        buffer = self._buffer
        self._restart()
        if zlib.crc32(buffer) & 0xFFFFFFFF != checksum:
            raise ProtocolError("checksum mismatch in frame {}".format(request_id))
        try:
            header = json.loads(buffer[:header_size].tobytes().decode("utf-8"), object_hook=_untagged)
            entries = header.pop("arrays", [])
            arrays = {entry["name"]: self._array(entry, buffer[header_size:]) for entry in entries}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise ProtocolError("malformed frame {}: {!r}".format(request_id, error))
        return Frame(kind, request_id, header, arrays)

    def _array(self, entry, body):
        kind = entry["kind"]
        if kind == "dense":
            return self._dense(entry, body)
        parts = {part["name"]: self._array(part, body) for part in entry["parts"]}
        if kind == "string":
            return _strings(parts["data"], parts["offsets"], _shape_of(entry))
        if kind in _COMPOSED:
            return _COMPOSED[kind](*[parts[part] for part in _COMPOSED[kind].PARTS])
        raise ProtocolError("unknown array kind {!r}".format(kind))

    def _dense(self, entry, body):
        name, shape = entry["dtype"], _shape_of(entry)
        if name not in DTYPES and name not in BIT_DTYPES:
            raise ProtocolError("dtype {!r} does not travel".format(name))
        stored = np.dtype(BIT_DTYPES.get(name, name))
        offset, nbytes = entry["offset"], entry["nbytes"]
        inside = offset >= 0 and nbytes >= 0 and offset + nbytes <= body.size
        if not inside or offset % _ALIGN or _count(shape) * stored.itemsize != nbytes:
            raise ProtocolError("array {!r} lies outside its frame".format(entry["name"]))
        array = body[offset : offset + nbytes].view(stored).reshape(shape)
        if name not in BIT_DTYPES:
            return array
        return array.view(self._dtypes[name]) if name in self._dtypes else Bits(name, array)


def _aligned(size):
    """Return ``size`` bytes at an aligned address, not touched: a frame costs memory as it arrives."""
    memory = np.empty(size + _ALIGN, np.uint8)
    start = -memory.ctypes.data % _ALIGN
    return memory[start : start + size]


def _shape_of(entry):
    shape = tuple(int(size) for size in entry["shape"])
    if min(shape or (0,)) < 0:
        raise ProtocolError("array {!r} has a negative size: {}".format(entry["name"], shape))
    return shape


def _count(shape):
    count = 1
    for size in shape:
        count *= size  # Python's integers: this product cannot overflow
    return count


def _strings(data, offsets, shape):
    """Cut the data at the offsets; strings that overlap would be a small frame with a huge content."""
    whole = offsets.dtype == np.int64 and offsets.ndim == 1 and offsets.size == _count(shape) + 1
    if not whole or offsets[0] != 0 or offsets[-1] != data.nbytes or (np.diff(offsets) < 0).any():
        raise ProtocolError("the offsets of a string array do not cut its {} bytes".format(data.nbytes))
    raw = data.tobytes()
    array = np.empty(offsets.size - 1, object)
    for index, (start, stop) in enumerate(zip(offsets[:-1], offsets[1:])):
        array[index] = raw[start:stop].decode("utf-8")
    return array.reshape(shape)


class Channel(object):
    """Blocking frames over two descriptors; the worker's side of the pipe."""

    def __init__(self, read_fd, write_fd, dtypes=None):
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._reader = FrameReader(dtypes)

    def receive(self):
        """Return the next frame, or None when the other side is gone."""
        while True:
            wanted = self._reader.wanted()
            if len(wanted):
                count = os.readv(self._read_fd, [wanted[: 1 << 20]])
                if count == 0:
                    return None
            else:
                count = 0
            frame = self._reader.advance(count)
            if frame is not None:
                return frame

    def send(self, kind, request_id, header, arrays=None):
        buffers = deque(encode(kind, request_id, header, arrays))
        while buffers:
            write_some(self._write_fd, buffers)
