"""Arrays as ``.npy`` members: no pickle, and no size taken from a header.

bfloat16 and float8 travel as their bits, strings as their UTF-8 bytes plus offsets; the index in
``case.json`` has the logical dtype and shape.
"""

from __future__ import annotations

import io
import math
import tokenize
import warnings
from typing import Any

import numpy as np

from ..core.arrays import EXTENSION_DTYPES, Array, dtype_name

#: Everything a case file may hold; what is not here is refused on both ways.
PLAIN_DTYPES = frozenset(
    {"bool", "complex64", "complex128"}
    | {f"float{bits}" for bits in (16, 32, 64)}
    | {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
)
STRING = "string"

#: The header of a ``.npy`` is a Python literal that NumPy tokenizes and evaluates; a hostile one fails in many ways.
_BAD_HEADER = (
    ValueError,
    TypeError,
    KeyError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    MemoryError,
    OverflowError,
)


class ArrayError(ValueError):
    """An array that cannot be kept, or bytes that are not the array the index promises."""


def encode(array: Array) -> tuple[bytes, ...]:
    """The ``.npy`` files for one array: one, or for strings two (bytes, offsets).

    Raises:
        ArrayError: if the dtype has no place in a case file.
    """
    name = dtype_name(array)
    if name == STRING:
        return _encode_strings(array)
    if name in EXTENSION_DTYPES:
        return (_npy(array.view(_bits(name))),)
    if name not in PLAIN_DTYPES:
        raise ArrayError(f"dtype {name!r} cannot be kept in a case file")
    return (_npy(array),)


def decode(files: tuple[bytes, ...], dtype: str, shape: tuple[int, ...]) -> Array:
    """The array that ``encode`` took; read-only, strings as an object array of ``str``.

    Raises:
        ArrayError: if the bytes are not an array of this dtype and shape.
    """
    if dtype == STRING:
        data, offsets = files
        return _decode_strings(data, offsets, shape)
    if dtype in EXTENSION_DTYPES:
        return _parse(files[0], np.dtype(_bits(dtype)), shape).view(EXTENSION_DTYPES[dtype])
    if dtype not in PLAIN_DTYPES:
        raise ArrayError(f"dtype {dtype!r} is not one a case file may hold")
    return _parse(files[0], np.dtype(dtype), shape)


def _bits(name: str) -> str:
    return f"uint{8 * EXTENSION_DTYPES[name].itemsize}"


def _npy(array: Array) -> bytes:
    """C order and little-endian whatever the array's layout, so that equal arrays are equal bytes."""
    buffer = io.BytesIO()
    plain = np.array(array, dtype=array.dtype.newbyteorder("<"), order="C", copy=None)
    np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _parse(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    buffer = io.BytesIO(data)
    found_shape, fortran, found = _header(buffer)
    if found.hasobject:
        raise ArrayError("it holds pickled Python objects")
    if found.newbyteorder("<") != dtype.newbyteorder("<") or found_shape != shape:
        raise ArrayError(
            f"the index says {dtype.name} of shape {list(shape)}, the array is {found.name} of {list(found_shape)}"
        )
    start = buffer.tell()
    # numpy.load would allocate what the header asks for before it looks for the bytes.
    if len(data) - start != math.prod(shape) * found.itemsize:
        raise ArrayError(f"shape {list(shape)} of {dtype.name} does not fit {len(data) - start:,} bytes")
    flat = np.frombuffer(data, found, offset=start)
    try:
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError) as error:
        raise ArrayError(f"shape {list(shape)} is impossible") from error


def _header(buffer: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(buffer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of headers of Python 2 before it refuses them
            shape, fortran, dtype = readers[version](buffer)
    except _BAD_HEADER as error:
        raise ArrayError("its .npy header is damaged") from error
    return shape, fortran, dtype


def _encode_strings(array: Array) -> tuple[bytes, bytes]:
    items = []
    for item in array.ravel():
        if not isinstance(item, str):
            raise ArrayError(f"an object array may hold strings only, got {type(item).__name__}")
        try:
            items.append(item.encode())
        except UnicodeEncodeError as error:
            raise ArrayError(f"the string {item!r} has no UTF-8 form") from error
    offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
    return _npy(np.frombuffer(b"".join(items), np.uint8)), _npy(offsets)


def _decode_strings(data: bytes, offsets: bytes, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    ends = _parse(offsets, np.dtype(np.int64), (count + 1,))
    if ends[0] != 0 or np.any(ends[1:] < ends[:-1]):
        raise ArrayError("its string offsets do not increase from 0")
    raw = _parse(data, np.dtype(np.uint8), (int(ends[-1]),)).tobytes()
    # Objects and not a fixed-width dtype, where one long string would cost its length for each of them.
    flat = np.empty(count, dtype=object)
    try:
        flat[:] = [raw[start:end].decode() for start, end in zip(ends[:-1], ends[1:], strict=True)]
        strings = flat.reshape(shape)
    except (ValueError, OverflowError) as error:
        raise ArrayError(f"its strings are no UTF-8, or shape {list(shape)} is impossible") from error
    strings.flags.writeable = False
    return strings
