"""The tables of an engine that no renderer knows: whatever JSON it gives, as rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.jsontext import Json, document
from . import wording
from .facts import Facts
from .fuzz_tables import Grid

#: Rows of one table, and letters of one cell; the JSON has all of it.
MOST_ROWS, _LONGEST = 40, 80


def grids(facts: Facts) -> list[Grid]:
    """The tables of all such engines of a run."""
    return [grid for engine, tables in facts.engine_tables.items() for grid in _of_engine(engine, tables)]


def _of_engine(engine: str, tables: Mapping[str, Json]) -> list[Grid]:
    """Its single numbers together, and each table by its name."""
    alone = {name: value for name, value in tables.items() if not isinstance(value, (Mapping, list, tuple))}
    found = [Grid(engine, ["", "value"], _limited([[name, _cell(value)] for name, value in alone.items()]))]
    found += [_table(f"{engine}: {name}", value) for name, value in tables.items() if name not in alone]
    return [grid for grid in found if grid.rows]


def _table(title: str, value: Json) -> Grid:
    """Rows by name, or in their order; a column for every name that any of them has."""
    by_name = isinstance(value, Mapping)
    rows = dict(value) if by_name else {str(place): row for place, row in enumerate(value, start=1)}
    if rows and all(isinstance(row, Mapping) for row in rows.values()):
        columns = list(dict.fromkeys(name for row in rows.values() for name in row))
        cells = [[key, *(_cell(row[name]) if name in row else "" for name in columns)] for key, row in rows.items()]
        return Grid(title, ["", *columns], _limited(cells))
    return Grid(title, ["", "value"], _limited([[key, _cell(row)] for key, row in rows.items()]))


def _limited(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    more = len(rows) - MOST_ROWS
    if more <= 0:
        return list(rows)
    rest = [f"... and {wording.count(more, 'more row', 'more rows')}: all are in the JSON"]
    return [*rows[:MOST_ROWS], [*rest, *[""] * (len(rows[0]) - 1)]]


def _cell(value: Json) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return wording.number(value, digits=6)
    text = str(value) if isinstance(value, (int, str)) else document(value, indent=None)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
