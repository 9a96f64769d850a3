"""Tables that no renderer knows: of whatever form, in the text and on the page, and harmless."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tensorparity.core.jsontext import Json
from tensorparity.reporting import html, terminal
from tensorparity.reporting.facts import Facts
from tensorparity.reporting.plain_tables import MOST_ROWS, grids
from tensorparity.reporting.redaction import redacted


def facts(**tables: Json) -> Facts:
    return Facts("hunt", 0, (), {"seconds": 1.0, "cases": 4}, engine_tables={"theirs": tables})


def shown(**tables: Json) -> list[tuple[str, list[str], list[list[str]]]]:
    return [(g.title, list(g.columns), [list(row) for row in g.rows]) for g in grids(facts(**tables))]


@pytest.mark.parametrize(
    ("value", "columns", "rows"),
    [
        (
            [{"a": 1, "b": 0.5}, {"b": None, "c": True}],
            ["", "a", "b", "c"],
            [["1", "1", "0.5", ""], ["2", "", "-", "yes"]],
        ),
        ({"x": {"a": 1}, "y": {"a": 2}}, ["", "a"], [["x", "1"], ["y", "2"]]),
        ({"x": 1, "y": "z"}, ["", "value"], [["x", "1"], ["y", "z"]]),
        ([1, [2, float("inf")]], ["", "value"], [["1", "1"], ["2", '[2, "Infinity"]']]),
    ],
)
def test_every_form_of_json_is_a_table(value: Json, columns: list[str], rows: list[list[str]]) -> None:
    assert shown(mine=value) == [("theirs: mine", columns, rows)]


def test_single_numbers_stand_together_and_what_is_empty_is_left_out() -> None:
    assert shown(asked=4, scale=0.25, none=[]) == [("theirs", ["", "value"], [["asked", "4"], ["scale", "0.25"]])]
    assert shown() == []


def test_long_tables_and_cells_are_cut() -> None:
    ((_, _, rows),) = shown(mine=["x" * 500] * (MOST_ROWS + 3))
    assert len(rows) == MOST_ROWS + 1
    assert rows[-1][0] == "... and 3 more rows: all are in the JSON"
    assert len(rows[0][1]) == 80


def test_both_reports_show_them_without_obeying_them() -> None:
    hostile = facts(mine={"<script>alert(1)</script>": {"[bold]column": "\x1b[31m"}})
    stream = io.StringIO()
    terminal.render(hostile, Console(file=stream, width=100))
    text, page = stream.getvalue(), html.render(hostile)
    assert "theirs: mine" in text
    assert "[bold]column" in text
    assert "\x1b" not in text
    assert "theirs: mine" in page
    assert "<script>alert" not in page
    assert "engine-tables" not in html.render(redacted(hostile))
