"""Strict JSON in two dialects."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorparity.core.jsontext import canonical, document, parse, tag, untag

NAN, INF = float("nan"), float("inf")

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_canonical_round_trip(value: Any) -> None:
    text = canonical(value)
    assert canonical(parse(text)) == text
    assert repr(parse(text)) == repr(value) or sorted_repr(parse(text)) == sorted_repr(value)


def sorted_repr(value: Any) -> str:
    if isinstance(value, dict):
        return repr([(key, sorted_repr(value[key])) for key in sorted(value)])
    return repr([sorted_repr(item) for item in value]) if isinstance(value, list) else repr(value)


def test_canonical_text() -> None:
    value = {"b": (1, 2.0, True), "a": {"ä": None}, "c": [NAN, INF, -INF, -0.0]}
    assert canonical(value) == (
        '{"a":{"ä":null},"b":[1,2.0,true],"c":[{"$float":"nan"},{"$float":"inf"},{"$float":"-inf"},-0.0]}'
    )


def test_document_spells_non_finite_numbers() -> None:
    assert json.loads(document({"x": [NAN, INF, -INF, 1.5]})) == {"x": ["NaN", "Infinity", "-Infinity", 1.5]}
    assert document({"b": 1, "a": 2}, indent=None) == '{"b": 1, "a": 2}', "keys stay as the contract orders them"


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"x": -Infinity}', "{", b"\xff"])
def test_what_is_not_strict(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.5), "0.5"),
        (np.int64(3), "3"),
        (np.bool_(True), "true"),
        (np.float64("inf"), '{"$float":"inf"}'),
        (np.float32("nan"), '{"$float":"nan"}'),
        (MappingProxyType({"a": (1,)}), '{"a":[1]}'),
        ({1: 2}, '{"1":2}'),
    ],
)
def test_what_stands_for_json(value: Any, text: str) -> None:
    assert canonical(value) == text


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x", np.zeros(2), [lambda: 0]])
def test_what_is_no_json(value: Any) -> None:
    for dialect in (canonical, document, tag):
        with pytest.raises(TypeError, match="not a JSON value"):
            dialect(value)


def test_tag_and_untag() -> None:
    assert untag(tag({"x": [INF, 1]})) == {"x": [INF, 1]}
    assert math.isnan(untag({"$float": "nan"}))
