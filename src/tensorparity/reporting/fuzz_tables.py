"""The paper's tables from the facts of a fuzzing run: computed here, drawn by the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..core.jsontext import Json
from .facts import Facts

_STAGES = ("forward", "loss", "backward")
_ENDS = ("nan", "generation", "execution")
#: The data set of what all of them have together.
_TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first column names what a row is about.

    Args:
        remark: what the figures in parentheses are; empty where there are none.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class FuzzView:
    """What section 5 of the paper reports, for one run, and what was covered.

    Args:
        undecided: why nothing was decided, and how often.
        lacks: why targets do not support something, and how often.
    """

    grids: Sequence[Grid]
    lines: Sequence[str]
    undecided: Sequence[tuple[str, int]]
    lacks: Sequence[tuple[str, int]]


def view(facts: Facts) -> FuzzView | None:
    """None for a run that was not a fuzzing one."""
    tables: Mapping[str, Json] | None = facts.stats.get("tables")
    if tables is None or "inconsistencies" not in tables:  # those of a hunt are by engine
        return None
    grids = (
        _grid("Inconsistencies (Chebyshev, t = 0.15; each layer once)", tables["inconsistencies"], "pair", _STAGES),
        _grid("NaN, generation and execution crashes (each layer or message once)", tables["endings"], "target", _ENDS),
        _voted_table(tables["voted"], tables.get("only_here"), tables.get("against")),
    )
    thresholds = ", ".join(f"{t}: {count}" for t, count in tables["thresholds"].items())
    lines = (
        f"Inconsistencies by t: {thresholds}",
        "Seconds by data set: " + ", ".join(f"{n}: {s:.1f}" for n, s in tables["seconds"].items()),
        _coverage(facts.stats),
        *_beside(facts.stats),
        *_samples(facts.stats),
        *_lines(facts.stats),
    )
    lacks: Mapping[str, int] = facts.stats.get("unsupported_reasons", {})
    return FuzzView(grids, lines, _reasons_by_count(facts.undecided), _reasons_by_count(lacks))


def _reasons_by_count(reasons: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(reasons.items(), key=lambda item: -item[1]))


def render(facts: Facts, console: Console) -> None:
    """Write them on the terminal."""
    shown = view(facts)
    if shown is None:
        return
    for grid in shown.grids:
        table = Table(title=grid.title, box=box.SIMPLE, title_justify="left")
        for column in grid.columns:
            table.add_column(Text(column), justify="right" if column in (*_STAGES, *_ENDS) else "left")
        for row in grid.rows:
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)
        if grid.remark:
            console.print(Text(grid.remark))
    for line in shown.lines:
        console.print(Text(line))


def _grid(title: str, rows: Sequence[Json], key: str, columns: Sequence[str]) -> Grid:
    """One row per pair or target and data set; a data set in which nothing was found is in the total alone."""
    cells = [
        [row[key], row["data"], *(str(row[column]) for column in columns)]
        for row in rows
        if row["data"] == _TOTAL or any(row[column] for column in columns)
    ]
    return Grid(title, [key, "data set", *columns], cells)


def _voted_table(voted: Sequence[Json], only: Sequence[Json] | None, against: Json) -> Grid:
    rows = []
    for index, row in enumerate(voted):
        extra = [f" ({len(only[index][stage])})" if only else "" for stage in _STAGES]
        rows.append([row["target"], *(f"{len(row[s])}{more}" for s, more in zip(_STAGES, extra, strict=True))])
    remark = ""
    if against:
        way = "with" if against["unit"] else "without"
        run = f"{against['models']} networks {way} --unit, seed {against['seed']}"
        remark = f"In parentheses: not found by the last run of these targets the other way, {run}"
    return Grid("Distinct voted layers", ["target", *_STAGES], rows, remark)


def _coverage(stats: Mapping[str, Json]) -> str:
    parts = [f"{name} {part['used']} of {part['declared']}" for name, part in stats["coverage"].items()]
    share = f"{100 * stats['unsupported_share']:.1f} % of the executions unsupported"
    depth = f"{stats['mean_layers']:.1f} layers ({stats['mean_nodes']:.1f} with reshaping) per network"
    speed = f"{stats['models_per_minute']:.1f} networks per minute"
    return f"Covered: {', '.join(parts)}; {depth}; {share}; {stats['unbuildable']} that no target could build; {speed}"


#: Kinds of single cases by what the statistics call their number.
_ALONE = {
    "loss_cases": "losses",
    "weighed_loss_cases": "losses with weights",
    "metric_cases": "metrics",
    "function_cases": "functions",
    "reload_cases": "reloads",
    "export_cases": "exports",
    "kink_cases": "layers at ties and thresholds",
    "initializer_cases": "initializers and variables",
}


def _beside(stats: Mapping[str, Json]) -> Iterator[str]:
    """What was run beside the networks, and how much of it nothing could be said of."""
    counts = [f"{stats[key]} {words}" for key, words in _ALONE.items() if stats.get(key)]
    if counts:
        undecided = sum(stats.get("set_aside", {}).get("undecided", {}).values())
        yield f"In addition: {', '.join(counts)}; {undecided} undecided"


def _samples(stats: Mapping[str, Json]) -> Iterator[str]:
    for name, said in stats.get("samples", {}).items():
        yield f"Data set {name}: {said}"


def _lines(stats: Mapping[str, Json]) -> Iterator[str]:
    found = stats.get("line_coverage", {})
    for target, part in found.get("targets", {}).items():
        share = 100 * part["executed"] / max(1, part["lines"])
        yield f"Lines of {found['package']} on {target}: {part['executed']} of {part['lines']} ({share:.1f} %)"
