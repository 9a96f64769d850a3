"""What the documentation says of a parameter, in the four categories of D2C: structure, type, shape, valid value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_DTYPES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    **{
        name: name
        for name in [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        ]
    },
}
_ALLOWED = re.compile(r"one of the following types:((?:\s*`\w+`,?)+)")
_SAME_TYPE = re.compile(r"(?:same (?:d?type|data type) as|same type and shape as)\s*`?(\w+)`?", re.IGNORECASE)
_SAME_SHAPE = re.compile(
    r"same (?:shape|size|type and shape|shape and type|dimensions?) (?:as|of)\s*`?(\w+)`?", re.IGNORECASE
)
_RANK = re.compile(r"\b([0-5])\s?-?\s?[dD]\b|\brank[- ](?:of )?`?([0-5])\b", re.IGNORECASE)
_SHAPE = re.compile(
    r"[\[(]\s*((?:\.\.\.|[A-Za-z][\w{}\\]*|\d)(?:\s*,\s*(?:\.\.\.|[A-Za-z][\w{}\\]*|\d))*)\s*,?\s*[\])]"
)
_QUOTED = re.compile(r"[\"'“]([A-Za-z][\w-]{0,24})[\"'”]")
_NEAR_SHAPE = re.compile(r"shape|tensor of|dimension|matri|:math:", re.IGNORECASE)
_RANK_WORDS = {"scalar": 0, "vector": 1, "1d": 1, "matrix": 2, "matrices": 2}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is said of one parameter.

    Args:
        structure: ``tensor``, ``list``, ``number``, ``flag``, ``string``, or empty.
        shapes: symbolic shapes, ``...`` for any leading axes.
        same_type: the parameters it shares its dtype with; ``same_shape`` likewise.
        domain: ``positive``, ``unit``, ``probability``, or empty.
    """

    text: str = ""
    structure: str = ""
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    shapes: tuple[tuple[str, ...], ...] = ()
    choices: tuple[str, ...] = ()
    same_type: tuple[str, ...] = ()
    same_shape: tuple[str, ...] = ()
    domain: str = ""
    words: frozenset[str] = field(default_factory=frozenset)


def facts_of(doc: str, names: Sequence[str]) -> dict[str, Facts]:
    """The facts of each parameter named; one that is not described has none."""
    texts = _texts(doc, frozenset(names))
    return {name: _facts(text) for name, text in texts.items()}


def _texts(doc: str, names: frozenset[str]) -> dict[str, str]:
    """What stands behind ``name:`` or ``name (type):`` up to the next such line or a line further left."""
    found: dict[str, list[str]] = {}
    current, indent = "", 0
    for line in doc.splitlines():
        start = re.match(r"(\s*)[-*]?\s*`{0,2}(\w+)`{0,2}\s*(\([^)]*\))?\s*:(?!:)\s*(.*)", line)
        width = len(line) - len(line.lstrip())
        if start and start[2] in names and (not current or width <= indent):
            current, indent = start[2], width
            found.setdefault(current, []).append(f"{start[3] or ''} {start[4]}")
        elif current and line.strip() and width <= indent:
            current = ""
        elif current:
            found[current].append(line.strip())
    return {name: " ".join(parts) for name, parts in found.items()}


def _facts(text: str) -> Facts:
    words = frozenset(re.findall(r"[a-z]+", text.lower()))
    return Facts(
        text=text,
        structure=_structure(text.lower(), words),
        dtypes=_dtypes(text, words),
        ranks=_ranks(text),
        shapes=shapes_in(text),
        choices=tuple(dict.fromkeys(_QUOTED.findall(text)))[:16],
        same_type=tuple(_SAME_TYPE.findall(text)),
        same_shape=tuple(_SAME_SHAPE.findall(text)),
        domain=_domain(text.lower()),
        words=words,
    )


def _structure(text: str, words: frozenset[str]) -> str:
    head = text[:60]
    if re.search(
        r"(list|sequence|tuple|iterable) of (`{0,2}(tf\.|keras)?(tensor|array|operation)|same-shaped)", text[:120]
    ):
        return "tensors"
    if re.search(
        r"list of `?int|tuple of (\w+ )?int|list/tuple of|sequence of int|int or tuple|tuple/list of|int tuple",
        text[:120],
    ):
        return "list"
    if re.search(r"`?bool(ean)?`?\b", head) and not re.search(r"tensor|array", head):
        return "flag"
    if re.search(r"\btensors?\b|\barrays?\b|array_like|array-like|variable", text[:160]):
        return "tensor"
    if re.search(r"\b(int|integer|float|number)\b", head):
        return "number"
    return "string" if re.search(r"\bstr(ing)?\b", head) else ""


def _dtypes(text: str, words: frozenset[str]) -> tuple[str, ...]:
    listed = _ALLOWED.search(text)
    if listed:
        names = [_DTYPES.get(name, "") for name in re.findall(r"`(\w+)`", listed[1])]
        return tuple(dict.fromkeys(name for name in names if name))
    named = tuple(dict.fromkeys(name for name in re.findall(r"`?\b(\w+\d+|bool)\b`?", text) if name in _DTYPES))
    if named and not words & {"default", "defaults"}:
        return named
    if re.search(r"integer (tensor|array|indices|dtype)|indices|of type int|int tensor|integral", text.lower()):
        return ("int32", "int64")
    if re.search(r"bool(ean)? (tensor|array|mask)|of type `?bool", text.lower()):
        return ("bool",)
    if re.search(r"complex(-valued)? (tensor|array|input)", text.lower()):
        return ("complex64",)
    return ()


def _ranks(text: str) -> tuple[int, ...]:
    found = [int(first or second) for first, second in _RANK.findall(text)]
    lower = text.lower()
    found += [rank for word, rank in _RANK_WORDS.items() if re.search(rf"\b{word}\b", lower[:100])]
    return tuple(dict.fromkeys(found))[:4]


def shapes_in(text: str) -> tuple[tuple[str, ...], ...]:
    """Symbolic shapes such as ``[batch, height, width, channels]`` or ``(N, C_{in}, L)``."""
    found = []
    for match in _SHAPE.finditer(text):
        near = text[max(0, match.start() - 60) : match.start() + 10]
        symbols = tuple(_symbol(item) for item in match[1].split(","))
        if _NEAR_SHAPE.search(near) and _is_shape(symbols):
            found.append(symbols)
    return tuple(dict.fromkeys(found))[:4]


def _symbol(text: str) -> str:
    text = re.sub(r"\\text|[{}\\]", "", text.strip())
    return text if text == "..." else text.lower()


def _is_shape(symbols: tuple[str, ...]) -> bool:
    if not 1 <= len(symbols) <= 5 or "..." in symbols[1:]:
        return False
    return any(not symbol.isdigit() for symbol in symbols) and not set(symbols) & _NO_SYMBOLS


_NO_SYMBOLS = frozenset(
    [
        "optional",
        "default",
        "none",
        "tensor",
        "int",
        "float",
        "bool",
        "true",
        "false",
        "str",
        "list",
        "tuple",
        "number",
        "array",
        "ints",
        "e",
        "i",
        "g",
        "which",
        "or",
        "if",
        "see",
        "n-d",
        "i.e",
        "e.g",
        "integer",
        "string",
        "callable",
        "sequence",
        "scalar",
        "iterable",
        "dtype",
        "a",
        "the",
    ]
)


def _domain(text: str) -> str:
    if re.search(r"probabilit|in (the )?(range )?\[0,? ?1[\])]|between 0(\.0)? and 1|\[0\.?0?, 1\.?0?\]", text):
        return "unit"
    if re.search(r"positive|greater than (zero|0)|non-?negative|> ?0|strictly", text):
        return "positive"
    return ""
