"""Which array of a call holds indices, of which axis, and whether they are within its range."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg, parts_of

_INDEX = re.compile(r"ind(?:ex|ices)|idx|ids\b|starts?\b|begin\b", re.IGNORECASE)
_AXIS = ("axis", "dim")
#: How functions call the number of classes or segments.
_COUNT = ("num_classes", "depth", "num_segments", "n_classes", "length")
#: Functions that hold the indices first, and what they index behind them.
_INDICES_FIRST = re.compile(r"functional\.embedding|one_?hot|bincount|scatter_nd$|ScatterNd$", re.IGNORECASE)
#: Functions that index the whole array where no axis is given, as NumPy does.
_FLATTENED = re.compile(r"^(take|put)$", re.IGNORECASE)
#: Functions of which indices are places in several axes at once.
_PLACES = re.compile(r"nd(_|$)|tensor_scatter", re.IGNORECASE)
#: Those that count negative indices from the end.
_FROM_THE_END = re.compile(r"^(jax\.numpy|keras\.ops|tensorflow\.experimental\.numpy)\.|^torch\.(take|put)")


def is_out_of_range(call: ApiCall, inputs: dict[str, Array]) -> bool:
    """Whether an index of a call is none of the axis that it indexes."""
    given = list(_given(call))
    data, indices = _told_apart(call, given, inputs)
    name = call.api.rpartition(".")[2]
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if data is not None and _PLACES.search(plain):
        return any(_places_outside(array, data) for array in indices)
    size = _size(call, plain, data)
    return any(_outside(array, size, bool(_FROM_THE_END.search(call.api))) for array in indices)


def _given(call: ApiCall) -> Iterator[tuple[str, str]]:
    """Names of parameters, as far as they are known, and of the arrays in them."""
    named = [*((str(place), value) for place, value in enumerate(call.args)), *call.kwargs.items()]
    for name, value in named:
        yield from ((name, part.name) for part in parts_of(value) if isinstance(part, ArrayArg))


def _told_apart(
    call: ApiCall, given: list[tuple[str, str]], inputs: dict[str, Array]
) -> tuple[Array | None, list[Array]]:
    """What is indexed, and by what: by their names, or else by their places."""
    arrays = [(f"{parameter} {name}", inputs[name]) for parameter, name in given if name in inputs]
    whole = [item for item in arrays if item[1].dtype.kind in "iu"]
    named = [item for item in whole if _INDEX.search(item[0])]
    behind = whole[:1] if _INDICES_FIRST.search(call.api) else [item for item in whole if item is not arrays[0]]
    found = named or behind
    data = next((item[1] for item in arrays if all(item is not other for other in found)), None)
    return data, [array for _, array in found]


def _size(call: ApiCall, name: str, data: Array | None) -> int | None:
    """Of the axis that is indexed; None where nothing bounds the indices from above."""
    count = next((call.kwargs[key] for key in _COUNT if isinstance(call.kwargs.get(key), int)), None)
    whole = [value for value in call.args if isinstance(value, int) and not isinstance(value, bool)]
    if re.search("hot|segment", name):
        return count if count is not None else (whole[0] if whole else None)
    if data is None or "bincount" in name:
        return None
    axis: Any = next((call.kwargs[key] for key in _AXIS if key in call.kwargs), whole[0] if whole else None)
    if axis is None and _FLATTENED.search(name):
        return int(data.size)
    axis = axis if isinstance(axis, int) else 0
    return int(data.shape[axis]) if -data.ndim <= axis < data.ndim else 1


def _outside(array: Array, size: int | None, from_the_end: bool) -> bool:
    if not array.size:
        return False
    least = -size if from_the_end and size is not None else 0
    return bool(array.min() < least) or (size is not None and bool(array.max() >= size))


def _places_outside(array: Array, data: Array) -> bool:
    if not array.ndim or array.shape[-1] > data.ndim or not array.size:
        return bool(array.size)
    sizes = np.asarray(data.shape[: array.shape[-1]])
    return bool(((array < 0) | (array >= sizes)).any())
