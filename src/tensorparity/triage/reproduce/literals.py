"""Arrays and values as a person would write them in a script."""

from __future__ import annotations

import keyword
import math

import numpy as np

from ...core.arrays import EXTENSION_DTYPES, Array, dtype_name
from ...core.call import DtypeArg, TupleArg
from ...core.jsontext import Json
from ..reduction.values import OFFSET, PERIOD

#: More numbers than this nobody reads, and nobody pastes.
MOST_LISTED = 512
_MOST_SCATTERED = 24
_LONGEST_NAME = 60


class Unprintable(Exception):  # noqa: N818 (a reason, not an error)
    """It cannot be written down in a few lines; the message says what."""


def as_given(item: Json) -> str:
    """A parameter as a library was given it: a list stays one, and not everything that takes a tuple takes that."""
    return f"[{', '.join(map(as_given, item))}]" if isinstance(item, (list, tuple)) else value(item)


def value(item: Json) -> str:
    """A parameter: tuples for lists of numbers, as in the documentation."""
    if isinstance(item, TupleArg):
        inside = "".join(f"{value(part)}, " for part in item.items)
        return f"({inside.rstrip() if len(item.items) == 1 else inside.removesuffix(', ')})"
    if isinstance(item, DtypeArg):
        raise Unprintable("a dtype of the library")
    if isinstance(item, (list, tuple)):
        inside = ", ".join(value(part) for part in item)
        if all(isinstance(part, (int, float)) for part in item):
            return f"({inside},)" if len(item) == 1 else f"({inside})"
        return f"[{inside}]"
    if isinstance(item, float) and not math.isfinite(item):
        return f'float("{item}")'
    if isinstance(item, str):
        shown = repr(item)
        return shown if '"' in item else f'"{shown[1:-1]}"'
    return repr(item)


def name(text: object) -> str:
    """A name that becomes code, of an argument or a variable. It may be a stranger's, and scripts are executed.

    Raises:
        Unprintable: if it is more, or less, than a name.
    """
    if not isinstance(text, str) or not text.isidentifier() or keyword.iskeyword(text):
        raise Unprintable(f"{str(text)[:_LONGEST_NAME]!r}, which is no name in Python")
    return text


def dotted_name(text: object) -> str:
    """A public name of a library; ``name`` for each of its parts."""
    return ".".join(name(part) for part in str(text).split("."))


def is_known(dtype: str) -> bool:
    """Whether NumPy has the dtype by itself."""
    return dtype not in EXTENSION_DTYPES


def wide(data: Array) -> str:
    """``array``, in float32 if NumPy lacks its dtype: the numbers are the same, and the library casts them.

    Raises:
        Unprintable: as ``array``.
    """
    return array(data if is_known(dtype_name(data)) else data.astype(np.float32))


def array(data: Array) -> str:
    """An expression that gives the array, by its simplest rule.

    Raises:
        Unprintable: if it has no rule and is too long to be listed.
    """
    dtype = dtype_name(data)
    if not is_known(dtype):
        raise Unprintable(f"NumPy has no {dtype}")
    shape = value(list(data.shape))
    flat = data.reshape(-1)
    if dtype == "string":
        if data.size > MOST_LISTED:
            raise Unprintable(f"an array of {data.size} strings")
        return f"np.array({_nested_list(data)}, object)" + (f".reshape({shape})" if data.size == 0 else "")
    if data.size > 4 and (flat == flat[0]).all():
        return f"np.full({shape}, {number(flat[0])}, {value(dtype)})"
    if data.size > 8 and np.array_equal(flat.astype(np.float64), np.arange(data.size) % PERIOD - OFFSET):
        return f"(np.arange({data.size}) % {PERIOD} - {OFFSET}).reshape({shape}).astype({value(dtype)})"
    filled = np.flatnonzero(flat)
    if data.size > MOST_LISTED:
        if len(filled) > _MOST_SCATTERED:
            raise Unprintable(f"an array of shape {data.shape} whose values matter")
        entries = ", ".join(f"{index}: {number(flat[index])}" for index in filled)
        rule = f"[{{{entries}}}.get(i, 0) for i in range({data.size})]"
        return f"np.array({rule}, {value(dtype)}).reshape({shape})"
    return f"np.array({_nested_list(data)}, {value(dtype)})" + (f".reshape({shape})" if data.size == 0 else "")


def _nested_list(data: Array | str) -> str:
    if isinstance(data, str):  # what an array of objects is made of
        return value(data)
    if data.ndim == 0:
        return number(data[()])
    return "[" + ", ".join(_nested_list(part) for part in data) + "]"


def number(item: object) -> str:
    """Whole numbers without a point, others as short as they stay the same, non-finite ones by NumPy's names."""
    if isinstance(item, (bool, np.bool_)):
        return str(bool(item))
    if isinstance(item, (int, np.integer)):
        return str(int(item))
    if isinstance(item, str):
        return value(item)
    if isinstance(item, (complex, np.complexfloating)):
        return repr(complex(item))
    found = float(item)  # type: ignore[arg-type]
    if math.isnan(found):
        return "np.nan"
    if math.isinf(found):
        return "np.inf" if found > 0 else "-np.inf"
    negative_zero = found == 0 and math.copysign(1, found) < 0
    if found.is_integer() and abs(found) < 1e6 and not negative_zero:
        return str(int(found))
    return str(item)  # of a NumPy number: as short as its own dtype allows
