"""Reading constructor arguments the way the documentation describes them.

Every reader raises ShapeError with the argument's name, what was expected and what was received.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ..core.jsontext import Json, mappings
from .spec import Params, Shape, ShapeError

Pair = tuple[int, int]


def refuse(argument: str, expected: str, received: Json) -> NoReturn:
    raise ShapeError(f"Argument `{argument}`: expected {expected}. Received: {argument}={received!r}")


def is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def positive(params: Params, name: str) -> int:
    value = params[name]
    if not is_integer(value) or value <= 0:
        refuse(name, "a positive integer", value)
    return int(value)


def pair(params: Params, name: str, *, least: int = 1) -> Pair:
    """An integer for both axes or a sequence of two."""
    return _pair(params[name], name, least)


def sizes(params: Params, name: str, count: int, *, least: int = 1) -> tuple[int, ...]:
    """An integer for all axes or a sequence of ``count``."""
    value = params[name]
    items = (value,) * count if is_integer(value) else value
    if (
        not isinstance(items, (tuple, list))
        or len(items) != count
        or not all(is_integer(item) and item >= least for item in items)
    ):
        refuse(name, f"an integer >= {least} or {count} of them", value)
    return tuple(int(item) for item in items)


def _pair(value: Json, name: str, least: int) -> Pair:
    items = (value, value) if is_integer(value) else value
    if (
        not isinstance(items, (tuple, list))
        or len(items) != 2
        or not all(is_integer(item) and item >= least for item in items)
    ):
        refuse(name, f"an integer >= {least} or a pair of them", value)
    return int(items[0]), int(items[1])


def margins_of(params: Params, name: str, count: int) -> tuple[Pair, ...]:
    """(before, after) per axis: from one integer, from one per axis, or from pairs; nothing negative."""
    if count == 1:
        return (_pair(params[name], name, 0),)
    value = params[name]
    items = (value,) * count if is_integer(value) else value
    if not isinstance(items, (tuple, list)) or len(items) != count:
        refuse(name, f"an integer, {count} of them, or {count} pairs", value)
    return tuple(_pair(item, name, 0) for item in items)


def optional_positive(params: Params, name: str) -> int | None:
    return None if params[name] is None else positive(params, name)


def choice(params: Params, name: str, allowed: Sequence[str]) -> str:
    value = params[name]
    if not isinstance(value, str) or value not in allowed:
        refuse(name, f"one of {', '.join(map(repr, allowed))}", value)
    return str(value)


def number(params: Params, name: str, *, least: float | None = None) -> float:
    value = params[name]
    if not is_number(value) or (least is not None and not value >= least):
        refuse(name, "a number" if least is None else f"a number >= {least:g}", value)
    return float(value)


def flag(params: Params, name: str) -> bool:
    value = params[name]
    if not isinstance(value, bool):
        refuse(name, "True or False", value)
    return value


def channels_first(params: Params) -> bool:
    """None means Keras' own default, ``channels_last``."""
    if params["data_format"] is None:
        return False
    return choice(params, "data_format", ("channels_last", "channels_first")) == "channels_first"


def axis_of(value: Json, name: str, rank: int) -> int:
    """A non-negative axis of a tensor of this rank."""
    if not is_integer(value) or not -rank <= value < rank:
        refuse(name, f"an axis of a tensor of rank {rank}", value)
    return int(value) % rank


def axes_of(value: Json, name: str, rank: int) -> tuple[int, ...]:
    """One axis or several distinct ones, in the order given."""
    items = list(value) if isinstance(value, (tuple, list)) else [value]
    axes = tuple(axis_of(item, name, rank) for item in items)
    if not axes or len(set(axes)) != len(axes):
        refuse(name, "distinct axes", value)
    return axes


def sample_axes(value: Json, name: str, rank: int) -> tuple[int, ...]:
    """One axis or several, none of them the batch: a layer works on each sample alone."""
    axes = axes_of(value, name, rank)
    if 0 in axes:
        refuse(name, "an axis other than the batch", value)
    return axes


def known_size(shape: Shape, axis: int, what: str) -> int:
    """The size of an axis that weights depend on."""
    size = shape[axis]
    if size is None:
        raise ShapeError(f"The size of axis {axis} ({what}) must be known. Received: shape={shape}")
    return size


def need_rank(shape: Shape, rank: int) -> None:
    if len(shape) != rank:
        raise ShapeError(f"Expected an input of rank {rank}, batch axis included. Received: shape={shape}")


def gives_argument(value: Json, ending: str) -> bool:
    """Whether an argument whose name ends so is given anywhere in what a layer is made of."""
    return any(
        item is not None and name.endswith(ending) for mapping in mappings(value) for name, item in mapping.items()
    )
