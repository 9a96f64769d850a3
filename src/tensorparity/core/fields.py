"""Fields of JSON that may be anybody's: there, and of the type that the reader goes on with.

The error is a TypeError or KeyError; whoever reads a whole document says of which one (``Case.from_parts``).
"""

from __future__ import annotations

from typing import TypeVar

from .jsontext import Json

T = TypeVar("T")

_WORDS = {str: "a string", int: "a whole number", bool: "true or false", dict: "an object", list: "a list"}


def field(data: Json, name: str, kind: type[T], default: T | None = None) -> T:
    """The value of a field.

    Raises:
        KeyError: if it is not there and has no default.
        TypeError: if it is of another type.
    """
    if name in _object(data, name):
        return item(data[name], kind, name)
    if default is None:
        raise KeyError(name)
    return default


def optional(data: Json, name: str, kind: type[T]) -> T | None:
    """The value of a field that may be missing, or null.

    Raises:
        TypeError: if it is of another type.
    """
    value = _object(data, name).get(name)
    return None if value is None else item(value, kind, name)


def _object(data: Json, name: str) -> dict[str, Json]:
    if not isinstance(data, dict):
        raise TypeError(f"expected an object with {name!r}. Received: {_short_repr(data)}")
    return data


def item(value: Json, kind: type[T], name: str) -> T:
    """A value of that type; true is no number.

    Raises:
        TypeError: if it is of another.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name}: expected {_WORDS[kind]}. Received: {_short_repr(value)}")
    return value


def count(data: Json, name: str) -> int | None:
    """A number of things, at least one; None where it is not said.

    Raises:
        TypeError, ValueError: if it is something else.
    """
    found = optional(data, name, int)
    if found is not None and found < 1:
        raise ValueError(f"{name}: expected 1 or more. Received: {found}")
    return found


def _short_repr(value: Json) -> str:
    return repr(value)[:80]
