"""The paper's tables on the terminal, from the facts of a fuzzing run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..core.jsontext import Json
from .facts import Facts

_STAGES = ("forward", "loss", "backward")
_ENDS = ("nan", "generation", "execution")


def render(facts: Facts, console: Console) -> None:
    """Write what section 5 of the paper reports, for this run."""
    tables: Mapping[str, Json] = facts.stats["tables"]
    _grid(console, "Inconsistencies (Chebyshev, t = 0.15; each layer once)", tables["inconsistencies"], "pair", _STAGES)
    _grid(
        console,
        "NaN, generation and execution crashes (each layer or message once)",
        tables["endings"],
        "target",
        _ENDS,
    )
    _voted(console, tables["voted"], tables.get("only_here"), tables.get("against"))
    thresholds = ", ".join(f"{t}: {count}" for t, count in tables["thresholds"].items())
    console.print(Text(f"Inconsistencies by t: {thresholds}"))
    console.print(Text("Seconds by data set: " + ", ".join(f"{n}: {s:.1f}" for n, s in tables["seconds"].items())))
    console.print(Text(_coverage(facts.stats)))
    for line in (*_samples(facts.stats), *_lines(facts.stats)):
        console.print(Text(line))


def _grid(console: Console, title: str, rows: Sequence[Json], key: str, columns: Sequence[str]) -> None:
    """One row per pair or target, and the columns' counts for every data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    table.add_column(key)
    for name in names:
        table.add_column(f"{name}\n{'/'.join(column[:3] for column in columns)}", justify="right")
    for label in dict.fromkeys(row[key] for row in rows):
        own = {row["data"]: row for row in rows if row[key] == label}
        table.add_row(Text(label), *(" / ".join(str(own[name][column]) for column in columns) for name in names))
    console.print(table)


def _voted(console: Console, voted: Sequence[Json], only: Sequence[Json] | None, against: Json) -> None:
    table = Table(title="Distinct voted layers", box=box.SIMPLE, title_justify="left")
    for name in ("target", *_STAGES):
        table.add_column(name)
    for index, row in enumerate(voted):
        cells = []
        for stage in _STAGES:
            extra = f" ({len(only[index][stage])})" if only else ""
            cells.append(f"{len(row[stage])}{extra}")
        table.add_row(Text(row["target"]), *cells)
    console.print(table)
    if against:
        way = "with" if against["unit"] else "without"
        run = f"{against['models']} networks {way} --unit, seed {against['seed']}"
        console.print(Text(f"In parentheses: not found by the last run of these targets the other way, {run}"))


def _coverage(stats: Mapping[str, Json]) -> str:
    parts = [f"{name} {part['used']} of {part['declared']}" for name, part in stats["coverage"].items()]
    share = f"{100 * stats['unsupported_share']:.1f} % of the executions unsupported"
    depth = f"{stats['mean_layers']:.1f} layers ({stats['mean_nodes']:.1f} with reshaping) per network"
    speed = f"{stats['models_per_minute']:.1f} networks per minute"
    return f"Covered: {', '.join(parts)}; {depth}; {share}; {stats['unbuildable']} that nobody could build; {speed}"


def _samples(stats: Mapping[str, Json]) -> Iterator[str]:
    for name, said in stats.get("samples", {}).items():
        yield f"Data set {name}: {said}"


def _lines(stats: Mapping[str, Json]) -> Iterator[str]:
    found = stats.get("line_coverage", {})
    for target, part in found.get("targets", {}).items():
        share = 100 * part["executed"] / max(1, part["lines"])
        yield f"Lines of {found['package']} on {target}: {part['executed']} of {part['lines']} ({share:.1f} %)"
