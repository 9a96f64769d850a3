"""Values that no parameter of that kind should have: None, zero, negative, of another type or rank, NaN, huge."""

from __future__ import annotations

from ...core.jsontext import Json
from ...operators.spec import Parameter

#: Larger than any dimension, and within the integers that libraries compute sizes with.
HUGE = 2**31 - 1
_NOT_A_NAME = "no-such-mode"


def wrong_values(parameter: Parameter, value: Json) -> list[Json]:
    """Those that documentation rules out by name, then those that are odd for a parameter with such a value."""
    found = [_plain(item) for item in parameter.invalid]
    found += [odd for odd in _odd_values(_an_example(parameter, value)) if not _is_among(odd, parameter.valid)]
    return [item for place, item in enumerate(found) if not _is_among(item, found[:place])]


def _an_example(parameter: Parameter, value: Json) -> Json:
    """A value that says of what type the parameter is: the first that is not None."""
    return next((item for item in (value, *parameter.valid) if item is not None), None)


def _odd_values(example: Json) -> list[Json]:
    if isinstance(example, bool):
        return [None, "yes", -1, float("nan")]
    if isinstance(example, int):
        return [None, 0, -1, -HUGE, HUGE, 2.5, "3", [], [example] * 5, float("nan")]
    if isinstance(example, float):
        return [None, -1.0, 1e30, "much", [], float("nan"), float("inf")]
    if isinstance(example, str):
        return [None, "", _NOT_A_NAME, 0, -1, [], float("nan")]
    if isinstance(example, (list, tuple)):
        return [None, [], [*example, *example], _of(example, 0), _of(example, -1), _of(example, HUGE), "3", 2.5]
    return [0, -1, "no", []]


def _of(example: list[Json] | tuple[Json, ...], value: Json) -> list[Json]:
    """As long as the example, every number another one."""
    return [_of(item, value) if isinstance(item, (list, tuple)) else value for item in example]


def _plain(value: Json) -> Json:
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_among(value: Json, others: list[Json] | tuple[Json, ...]) -> bool:
    return any(repr(_plain(value)) == repr(_plain(other)) for other in others)
