"""How numbers and strangers' messages read."""

from __future__ import annotations

import math

import pytest

from tensorparity.reporting import wording


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (0.0, "0"), (1.2e-7, "1.2e-7"), (0.71, "0.71"), (1234.5, "1234"), (2.4e6, "2.4e6"),
        (math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (-0.5, "-0.5"),
    ],
)  # fmt: skip
def test_number(value: float | None, text: str) -> None:
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (1.0, "100%"), (0.99999, "99.9%+"), (0.764, "76.4%"), (0.0, "0%")]
)
def test_share(value: float | None, text: str) -> None:
    assert wording.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.04, "0.0 s"), (12.4, "12.4 s"), (125.0, "2 min 5 s"), (3725.0, "1 h 2 min")]
)
def test_seconds(value: float, text: str) -> None:
    assert wording.seconds(value) == text


def test_names() -> None:
    assert [wording.names("abc"[:length]) for length in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_count() -> None:
    assert [wording.count(amount, "case") for amount in (0, 1, 1204)] == ["0 cases", "1 case", "1,204 cases"]


def test_parameters() -> None:
    assert wording.parameters({"padding": "same", "x": math.inf, "y": 0.5}) == "padding='same', x=Infinity, y=0.5"


def test_one_line_takes_the_line_that_says_most() -> None:
    assert wording.one_line("\n first \n second") == "first"
    assert wording.one_line("Traceback (most recent call last):\n  File x\nValueError: no\n") == "ValueError: no"
    assert wording.one_line(" \n") == ""
    assert wording.one_line("x" * 50, limit=10) == "xxxxxxx..."


def test_visible_leaves_nothing_that_steers() -> None:
    assert wording.visible("ä\x1b[31m\u202e\u2028\ud800\t") == r"ä\x1b[31m\u202e\u2028\ud800\t"
