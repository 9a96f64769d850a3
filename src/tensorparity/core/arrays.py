"""Arrays as values: names of dtypes, digests, units of roundoff.

bfloat16 and the float8 types exist here as the NumPy extension dtypes of ``ml_dtypes``, a small
package without any library under test in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = Mapping[str, Array]

#: dtypes NumPy itself does not know, by the name they travel under.
EXTENSION_DTYPES: dict[str, np.dtype[Any]] = {
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
}

#: Unit roundoff u = 2**-p, p the number of significant bits.
_UNIT_ROUNDOFF = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
    "complex64": 2.0**-24,
    "complex128": 2.0**-53,
}


def dtype_named(name: str) -> np.dtype[Any]:
    return EXTENSION_DTYPES[name] if name in EXTENSION_DTYPES else np.dtype(name)


def dtype_name(array: Array) -> str:
    return _name_of(array.dtype)


@lru_cache(maxsize=256)
def _name_of(dtype: np.dtype[Any]) -> str:
    """Kept, because NumPy puts a name together anew whenever it is asked."""
    return "string" if dtype.kind in "UO" else dtype.name


def is_floating(name: str) -> bool:
    return name in _UNIT_ROUNDOFF


def unit_roundoff(name: str) -> float:
    """Unit roundoff u of a floating dtype; integers and booleans are exact, so 0."""
    return _UNIT_ROUNDOFF.get(name, 0.0)


def array_digest(array: Array) -> str:
    """Digest of dtype, shape and values; equal arrays have equal digests whatever their memory layout."""
    state = hashlib.sha256(f"{dtype_name(array)}{array.shape}".encode())
    if array.dtype.kind in "UO":
        for item in array.ravel():
            raw = str(item).encode()
            state.update(len(raw).to_bytes(8, "little"))
            state.update(raw)
    else:
        state.update(_plain(array).data)
    return state.hexdigest()


def _plain(array: Array) -> Array:
    """The same bytes under a dtype that supports the buffer protocol, little-endian."""
    if array.size == 0:
        return np.zeros(0, np.uint8)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
