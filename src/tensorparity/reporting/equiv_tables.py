"""The paper's tables 2 and 3 from the facts of a run of equivalences, beside the paper's own figures."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table

from ..core.jsontext import Json
from .facts import Facts

LIBRARIES = ("tensorflow", "torch", "jax", "keras")


def render(facts: Facts, console: Console) -> None:
    """Draw the tables; nothing of a run that was none of equivalences."""
    tables: Mapping[str, Json] = facts.stats.get("equivalences", {})
    if not tables:
        return
    console.print(_by_category(tables["table_2"]))
    console.print(_coverage(tables["coverage"], facts.stats.get("seconds", 0.0), tables))
    for line in lines(facts):
        console.print(line, markup=False, highlight=False)


def lines(facts: Facts) -> list[str]:
    """What the paper counts, beside what was counted here."""
    tables = facts.stats["equivalences"]
    paper, defects = tables["paper"], facts.defects
    return [
        f"pairs of rule and function: {tables['pairs']} (paper: {paper['pairs']} over five releases)",
        f"inconsistencies: {tables['inconsistencies']} (paper: {paper['inconsistencies']})",
        f"inconsistent (rule, function): {len(tables['inconsistent'])} (paper: {paper['bugs']} bugs); "
        f"distinct defects by signature: {len({finding.signature for finding in defects})}",
        f"one side alone raises, tallied apart: {sum(tables['one_sided'].values())}",
        f"what a crash-only oracle would see: {tables['crash_only']} (paper: 5 of 25)",
    ]


def _by_category(found: Mapping[str, Mapping[str, int]]) -> Table:
    table = Table("category", *LIBRARIES, "sum", title="Table 2: (rule, function) pairs that differ", box=box.SIMPLE)
    for category, own in found.items():
        counts = [own.get(library, 0) for library in LIBRARIES]
        table.add_row(category, *map(str, counts), str(sum(counts)))
    return table


def _coverage(found: Mapping[str, Mapping[str, Json]], seconds: float, tables: Mapping[str, Json]) -> Table:
    names = ("enumerated", "tried", "with_valid_inputs", "tested", "accepted_share")
    per_pair = seconds / max(1, tables["pairs"])
    title = f"Coverage, and Table 3: {per_pair:.2f} s per pair of rule and function (paper: 26 to 33 minutes)"
    table = Table("library", *(name.replace("_", " ") for name in names), title=title, box=box.SIMPLE)
    for library, own in found.items():
        table.add_row(library, *(str(own[name]) for name in names))
    return table
