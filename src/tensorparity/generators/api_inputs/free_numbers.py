"""Of a call that a library brought along: the arrays that may have other numbers, and still be the same call.

Floating arrays may. Whole numbers may where they are data; indices, sizes, counts, positions and labels stay, for
only some of them are in range.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.call import CALLED, ApiCall, ArrayArg, parts_of
from ...core.case import Case
from .documentation import facts_of
from .listing import Api, Parameter

#: Names of parameters whose whole numbers mean a place, a size or a choice.
_PLACES = re.compile(
    r"ind(ex|ices)|(^|_)i(dx|ds?|nds?)$|size|shape|axis|axes|dim|perm|length|offset|segment|repeat|split|num|count|target|"
    r"label|y_true|(^|_)pad|start|stop|(^|_)ends?($|_)|step|position|pivot|seed|block|bins|depth|token|rows?$|cols?$|"
    r"minlength|limit|high|low|max_|hint|section|order|degree|shift|delta|rate|^[iklmn]$",
    re.IGNORECASE,
)
#: Functions that take their first argument for such.
_OF_PLACES = re.compile(
    r"gather|take|scatter|index|indices|embedding|one_?hot|bincount|segment|repeat|ravel|permut|pivot|nll|cross_entropy|"
    r"ctc|margin|roll|tile|slice|put|select|histogram|arange|range|reshape|expand|choose|top_?k|eye|crop|resize|"
    r"upsample|unpool|shape|split|combinations|vander|window|mel_?weight|sequence|shift|categorical|sample",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\bind(ex|ices)\b|\bnumber of\b|\blengths?\b|\bsizes?\b of|\bclass(es)?\b|\blabels?\b", re.IGNORECASE
)


def free_numbers(case: Case, api: Api) -> dict[str, str]:
    """The names of the free arrays, each with the domain of its numbers, which is all of its type."""
    data = set(_data(case, api)) if not _OF_PLACES.search(api.name.rsplit(".", 1)[-1]) else set()
    kinds = {name: array.dtype.kind for name, array in case.inputs.items()}
    return {name: "" for name, kind in kinds.items() if kind in "fcV" or (kind in "iub" and name in data)}


def _data(case: Case, api: Api) -> Iterator[str]:
    """Arrays that are given to parameters of which neither name nor documentation says that they mean places."""
    call = case.subject
    if not isinstance(call, ApiCall):
        return
    made = call.api == CALLED
    named: list[tuple[int | str, Any]] = [*enumerate(call.args[made:]), *call.kwargs.items()]
    known = _parameters(api, made, len(call.args) - made)
    facts = facts_of(api.doc, [parameter.name for parameter in known])
    for key, value in named:
        name = known[min(key, len(known) - 1)].name if isinstance(key, int) and known else str(key)
        said = facts[name].text if name in facts else ""
        if not _PLACES.search(name) and not _SAID.search(said):
            yield from _arrays(value)


def _parameters(api: Api, made: bool, count: int) -> Sequence[Parameter]:
    """The parameters of the way to call it that takes so many arguments by place; of an object, those of its call."""
    ways = [[item for item in way if item.of_call is made] for way in api.overloads]
    return next((way for way in ways if len(way) >= count), ways[0] if ways else [])


def _arrays(value: Any) -> Iterator[str]:
    return (part.name for part in parts_of(value) if isinstance(part, ArrayArg))
