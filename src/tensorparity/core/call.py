"""ApiCall: a public function with concrete arguments, or a short program of several of them.

An argument may be a further call, so that what one function gives is what the next one takes. Four names are no
dotted ones: ``()`` calls what its first argument is (a module that another call made), ``.name`` is a method of its
first argument, ``[]`` picks an item of it, and ``[,]`` is the tuple of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from . import fields
from .jsontext import Json

#: Names of a call that are no dotted names.
CALLED, ITEM, SEVERAL = "()", "[]", "[,]"


@dataclass(frozen=True, slots=True)
class ArrayArg:
    """An argument of an ApiCall that is one of the case's input arrays."""

    name: str


@dataclass(frozen=True, slots=True)
class DtypeArg:
    """An argument that is a dtype of the library, by NumPy's name."""

    name: str


@dataclass(frozen=True, slots=True)
class TupleArg:
    """An argument that must be a tuple, where a function tells tuples from lists; plain sequences travel as lists."""

    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One public function with concrete arguments.

    These are JSON values, complex numbers, slices, ArrayArg, DtypeArg, TupleArg, further calls, or sequences and
    mappings of such.
    """

    api: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    kind = "api-call"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kwargs", MappingProxyType(dict(self.kwargs)))

    def to_json(self) -> Json:
        return {"kind": self.kind, **self._parts()}

    def _parts(self) -> dict[str, Json]:
        return {
            "api": self.api,
            "args": [argument_to_json(value) for value in self.args],
            "kwargs": {key: argument_to_json(value) for key, value in self.kwargs.items()},
        }

    @classmethod
    def from_json(cls, data: Json) -> ApiCall:
        return cls(
            api=fields.field(data, "api", str),
            args=tuple(argument_from_json(value) for value in fields.field(data, "args", list)),
            kwargs={key: argument_from_json(value) for key, value in fields.field(data, "kwargs", dict).items()},
        )

    def calls(self) -> Iterator[ApiCall]:
        """The call itself, and all within it."""
        yield self
        for value in (*self.args, *self.kwargs.values()):
            for part in parts_of(value):
                if isinstance(part, ApiCall):
                    yield from part.calls()

    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays that it takes, each once, in their order."""
        found: dict[str, None] = {}
        for call in self.calls():
            for value in (*call.args, *call.kwargs.values()):
                found.update({part.name: None for part in parts_of(value) if isinstance(part, ArrayArg)})
        return tuple(found)


def parts_of(value: Any) -> Iterator[Any]:
    """An argument, taken apart as far as sequences and mappings go; calls are left whole."""
    if isinstance(value, TupleArg):
        value = value.items
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from parts_of(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from parts_of(item)
    else:
        yield value


def without_tuples(value: Any) -> Any:
    """An argument of plain values, as JSON has it: tuples are lists."""
    if isinstance(value, (TupleArg, list, tuple)):
        return [without_tuples(item) for item in (value.items if isinstance(value, TupleArg) else value)]
    if isinstance(value, Mapping):
        return {name: without_tuples(item) for name, item in value.items()}
    return value


def argument_to_json(value: Any) -> Json:
    if isinstance(value, ApiCall):
        return {"$call": value._parts()}
    if isinstance(value, ArrayArg):
        return {"$array": value.name}
    if isinstance(value, DtypeArg):
        return {"$dtype": value.name}
    if isinstance(value, TupleArg):
        return {"$tuple": [argument_to_json(item) for item in value.items]}
    if isinstance(value, complex):
        return {"$complex": [value.real, value.imag]}
    if isinstance(value, slice):
        return {"$slice": [value.start, value.stop, value.step]}
    if isinstance(value, (list, tuple)):
        return [argument_to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): argument_to_json(item) for key, item in value.items()}
    return value


def argument_from_json(value: Json) -> Any:
    if isinstance(value, list):
        return tuple(argument_from_json(item) for item in value)
    if not isinstance(value, dict):
        return value
    (tag,) = value if len(value) == 1 else ("",)
    if tag in _READERS:
        return _READERS[tag](value[tag])
    return {key: argument_from_json(item) for key, item in value.items()}


def _text(cls: Callable[[str], Any]) -> Callable[[Json], Any]:
    return lambda value: cls(fields.item(value, str, cls.__name__))


_READERS: Mapping[str, Callable[[Json], Any]] = {
    "$array": _text(ArrayArg),
    "$dtype": _text(DtypeArg),
    "$call": ApiCall.from_json,
    "$tuple": lambda items: TupleArg(tuple(argument_from_json(item) for item in items)),
    "$complex": lambda parts: complex(*parts),
    "$slice": lambda ends: slice(*ends),
}
