"""Beyond the paper: functions of two libraries that have one name and take the same arguments.

A name is no promise: such a pair counts only once a trial on ordinary numbers shows that both mean the same (see the
engine). Arguments are carried over by their names, tensors by their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.call import ApiCall, ArrayArg, DtypeArg, TupleArg, parts_of
from ...core.case import Case, Counterpart
from ..api_inputs import Api, ApiListing
from .base import Category, Equivalence, library_of_name

#: Libraries in the order in which their calls are carried over: from one to those behind it.
_ORDER = ("torch", "jax", "tensorflow")
#: What libraries call one and the same argument.
_SYNONYMS = (
    frozenset(["axis", "dim", "axes", "dims", "reduction_indices", "dimension"]),
    frozenset(["keepdim", "keepdims", "keep_dims"]),
    frozenset(["eps", "epsilon"]),
    frozenset(["correction", "ddof"]),
    frozenset(["negative_slope", "alpha"]),
    frozenset(["k", "offset", "diagonal"]),
    frozenset(["min", "a_min", "clip_value_min"]),
    frozenset(["max", "a_max", "clip_value_max"]),
)
#: Words before a name that say nothing of what is computed.
_BEFORE = ("reduce_", "special_")
_MOST = 3


@dataclass(frozen=True)
class DirectCounterparts(Equivalence):
    """The engine pairs functions, for which it takes what all libraries list."""

    across: bool = True

    def equivalence(self, case: Case) -> Case | None:
        return None

    def counterpart(self, case: Case) -> Counterpart | None:
        return None

    def again(self, case: Case) -> Case | None:
        """A reduced case with the other side's call of the same arguments; None where it has no other side."""
        call, other = case.subject, case.counterpart
        if not isinstance(call, ApiCall) or other is None or not isinstance(other.subject, ApiCall):
            return None
        kwargs = {
            name: call.kwargs[mine] if (mine := _same_in(name, call.kwargs)) else value
            for name, value in other.subject.kwargs.items()
            if _same_in(name, call.kwargs) or not _is_known(name) or call.args[len(call.arrays()) :]
        }
        return replace(case, counterpart=replace(other, subject=replace(other.subject, kwargs=kwargs)))


DIRECT_COUNTERPARTS = DirectCounterparts(
    "direct-counterparts",
    0,
    Category.BEYOND,
    "F(I) = G(I), G being F of another library",
    {"keras": "its functions are its backends'; see other-backends"},
    derivative=1,
    oracle="direct_counterpart",
)


def counterparts_of(api: Api, listings: Mapping[str, ApiListing]) -> Iterator[Api]:
    """Functions of libraries further on whose names have the same letters and digits."""
    own = library_of_name(api.name)
    if own not in _ORDER or not _is_plain(api):
        return
    wanted = plain_name(api.name)
    for library in _ORDER[_ORDER.index(own) + 1 :]:
        listed = listings[library].apis.values() if library in listings else ()
        found = [other for other in listed if _is_plain(other) and plain_name(other.name) == wanted]
        yield from sorted(found, key=lambda other: (other.name.count("."), other.name))[:_MOST]


def plain_name(api: str) -> str:
    """The last part of a name, by its letters and digits alone."""
    name = api.rpartition(".")[2]
    for before in _BEFORE:
        name = name.removeprefix(before)
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _is_plain(api: Api) -> bool:
    return api.kind == "function" and ".raw_ops." not in api.name


def carried_over(case: Case, api: Api, other: Api) -> Case | None:
    """The case with a call of the other function as its counterpart; None where an argument has no place there."""
    call = case.subject
    if not isinstance(call, ApiCall) or len(list(call.calls())) > 1 or not case.inputs:
        return None
    for theirs in other.overloads:
        found = _carried(call, [item.name for item in api.overloads[0]], theirs, other.name)
        if found is not None:
            return replace(case, labels={}, counterpart=Counterpart(found, rule=DIRECT_COUNTERPARTS.name))
    return None


def _carried(call: ApiCall, mine: Sequence[str], theirs: Sequence[Any], name: str) -> ApiCall | None:
    named = _named(call, mine)
    if named is None:
        return None
    tensors = [value for value in named.values() if isinstance(value, ArrayArg)]
    rest = {key: value for key, value in named.items() if not isinstance(value, ArrayArg)}
    places = [item for item in theirs if not item.keyword][: len(tensors)]
    if len(places) < len(tensors) or any(item.many for item in places) or not all(map(_is_plain_value, rest.values())):
        return None
    taken = {item.name for item in places}
    kwargs: dict[str, Any] = {}
    for key, value in rest.items():
        its = next((item.name for item in theirs if item.name not in taken and _alike(key, item.name)), None)
        if its is None:
            return None
        kwargs[its] = value
    if any(item.required and not item.many and item.name not in taken and item.name not in kwargs for item in theirs):
        return None
    return ApiCall(name, tuple(tensors), kwargs)


def _named(call: ApiCall, names: Sequence[str]) -> dict[str, Any] | None:
    if len(call.args) > len(names):
        return None
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}


def _is_plain_value(value: Any) -> bool:
    """Numbers, words, dtypes and sequences of such; no arrays in lists."""
    if isinstance(value, TupleArg):
        value = value.items
    return all(isinstance(part, (int, float, str, bool, DtypeArg, type(None))) for part in parts_of(value))


def _alike(one: str, other: str) -> bool:
    return one == other or any(one in words and other in words for words in _SYNONYMS)


def _is_known(name: str) -> bool:
    return any(name in words for words in _SYNONYMS)


def _same_in(name: str, kwargs: Mapping[str, Any]) -> str:
    return next((mine for mine in kwargs if _alike(mine, name)), "")
