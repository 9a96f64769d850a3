"""Strict JSON, in two dialects.

* ``canonical`` is what digests are made of and what travels in case files: sorted keys, no spaces,
  and non-finite floats as ``{"$float": "inf"}`` so that they come back as floats.
* ``document`` is the machine-readable contract for users: non-finite numbers as the strings "NaN",
  "Infinity" and "-Infinity".
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

Json = Any  # JSON values; a recursive alias makes every caller cast


def canonical(value: Json) -> str:
    return json.dumps(_tag(value), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def parse(text: str | bytes) -> Json:
    return untag(json.loads(text, parse_constant=_refuse_constant))


def document(value: Json, *, indent: int | None = 2) -> str:
    return json.dumps(_spell(value), indent=indent, allow_nan=False, ensure_ascii=False)


def tag(value: Json) -> Json:
    """The JSON-safe form of ``value`` with non-finite floats tagged; the inverse of ``untag``."""
    return _tag(value)


def untag(value: Json) -> Json:
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return float(value["$float"])
        return {key: untag(item) for key, item in value.items()}
    if isinstance(value, list):
        return [untag(item) for item in value]
    return value


def mappings(value: Json) -> Iterator[Mapping[str, Json]]:
    """All objects within a value, itself the first."""
    if isinstance(value, Mapping):
        yield value
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (tuple, list)) else ()
    for item in inside:
        yield from mappings(item)


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"not strict JSON: {name}")


def _tag(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(float(value))}
    return _descend(value, _tag)


def _spell(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return _descend(value, _spell)


def _descend(value: Json, convert: Any) -> Json:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): convert(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [convert(item) for item in value]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a NumPy scalar
        return convert(value.item())
    raise TypeError(f"not a JSON value: {type(value).__name__}")
