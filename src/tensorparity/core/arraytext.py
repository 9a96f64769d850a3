"""Arrays as JSON: for what has to be told where only JSON is."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import numpy as np

from .arrays import Array, Arrays, dtype_name, dtype_named
from .jsontext import Json

#: Larger ones are left out.
LARGEST = 1 << 14


def arrays_to_json(arrays: Arrays) -> dict[str, Json]:
    """Numbers of any dtype; texts and what is large are left out."""
    return {
        name: [dtype_name(array), list(array.shape), base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()]
        for name, array in arrays.items()
        if array.dtype.kind not in "USO" and array.nbytes <= LARGEST
    }


def arrays_from_json(data: Mapping[str, Json]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, (dtype, shape, text) in data.items():
        found[name] = np.frombuffer(base64.b64decode(text), dtype_named(dtype)).reshape(shape)
    return found
