"""The paper's tables 2 and 3 from the facts of a run of equivalences, beside the paper's own figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
    console.print(_by_category(tables["table_2"], list(tables["coverage"])))
    console.print(_by_library(tables["table_3"], tables["paper"]))
    console.print(_coverage(tables["coverage"]))
    console.print(_by_rule(tables["per_rule"], tables["undecided_by_rule"]))
    packing = facts.stats.get("packing", {})
    if packing.get("ways"):
        console.print(_packed_and_alone(packing["ways"]))
    for line in lines(facts):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def lines(facts: Facts) -> list[str]:
    """What the paper counts, beside what was counted here."""
    return list(_lines(facts.stats["equivalences"], facts.stats.get("packing", {})))


def _lines(tables: Mapping[str, Json], packing: Mapping[str, Json]) -> Iterator[str]:
    paper = tables["paper"]
    per_release, models = paper["pairs_per_release"], paper["model_settings_per_release"]
    yield (
        f"Pairs of rule and function: {tables['pairs']} (paper: {paper['pairs']} over five releases; of one release "
        f"{per_release['tensorflow']} for TensorFlow, {models['tensorflow']} of them settings of models, and "
        f"{per_release['torch']} for PyTorch)"
    )
    yield _tested(tables["coverage"])
    yield f"Inconsistencies: {tables['inconsistencies']} (paper: {paper['inconsistencies']})"
    yield (
        f"Pairs that differ: {len(tables['inconsistent'])} (the paper calls each a bug: {paper['bugs']}); "
        f"distinct defects by signature: {tables['defects']}"
    )
    alone = sum(tables["one_sided"].values())
    if alone:
        yield f"Inputs that only one side refuses, for which no target is blamed: {alone}"
    yield _of_defects("An oracle that looks only for crashes would see", tables["seen_by_crash_oracle"], tables, 5)
    if tables["no_counterpart"] is None:
        yield "It is not known whether other libraries have such a function: only one ran (paper: 15 of 25 have none)"
    else:
        yield _of_defects("No other library of this run has a function of that name for", *_none(tables), 15)
    if packing:
        yield (
            f"Compiled in packs: {packing['calls']} cases in {packing['packs']} units; "
            f"{packing['fail_alone']} functions fail alone as well and are not packed"
        )


def _tested(coverage: Mapping[str, Mapping[str, Json]]) -> str:
    """Functions with enough inputs, and how many of these are no raw operations."""
    total = sum(own["tested"] for own in coverage.values())
    raw = sum(own["raw"]["tested"] for own in coverage.values())
    return (
        f"Functions with at least 10 accepted inputs over 3 shapes, and 2 settings where there are any: {total}, "
        f"{total - raw} without raw operations (paper: 1427)"
    )


def _none(tables: Mapping[str, Json]) -> tuple[Sequence[str], Mapping[str, Json]]:
    return tables["no_counterpart"], tables


def _of_defects(said: str, apis: Sequence[str], tables: Mapping[str, Json], paper: int) -> str:
    named = f": {', '.join(apis)}" if apis else ""
    return f"{said} {len(apis)} of {tables['defects']} (paper: {paper} of {tables['paper']['bugs']}){named}"


def _by_category(found: Mapping[str, Mapping[str, int]], libraries: Sequence[str]) -> Table:
    table = Table("category", *libraries, "sum", title="Table 2: pairs that differ", box=box.SIMPLE)
    for category, own in found.items():
        counts = [own.get(library, 0) for library in libraries]
        table.add_row(category, *map(str, counts), str(sum(counts)))
    return table


def _by_library(found: Mapping[str, Mapping[str, Json]], paper: Mapping[str, Json]) -> Table:
    names = ("library", "pairs", "inputs per pair", "worker CPU s per pair", "paper, minutes")
    table = Table(*names, title="Table 3: time", box=box.SIMPLE)
    for library, own in found.items():
        spent = own.get("worker_seconds_per_pair", 0.0)
        minutes = str(paper["minutes_per_pair"].get(library, ""))
        table.add_row(library, str(own["pairs"]), str(own["inputs_per_pair"]), f"{spent:.2f}", minutes)
    return table


def _coverage(found: Mapping[str, Mapping[str, Json]]) -> Table:
    names = ("enumerated", "tried", "with_valid_inputs", "tested")
    heads = ("enumerated", "tried", "with valid inputs", "with enough of them", "configurations accepted")
    table = Table("library", *heads, title="Coverage: functions (raw operations among them)", box=box.SIMPLE)
    for library, own in found.items():
        counts = [_with_raw(own[name], own["raw"][name]) for name in names]
        table.add_row(library, *counts, f"{own['accepted_share']:.0%}")
    return table


def _with_raw(count: int, raw: int) -> str:
    return f"{count} ({raw} raw)" if raw else str(count)


def _by_rule(found: Mapping[str, Mapping[str, int]], undecided: Mapping[str, int]) -> Table:
    heads = ("rule", "functions", "with enough inputs", "inputs", "functions that differ", "cases not decided")
    table = Table(*heads, title="Coverage by rule", box=box.SIMPLE)
    for name, own in found.items():
        tested = _with_raw(own["tested"], own["tested_raw"])
        counts = (own["apis"], tested, own["inputs"], own["inconsistent"], undecided.get(name, 0))
        table.add_row(name, *map(str, counts))
    return table


def _packed_and_alone(ways: Mapping[str, Mapping[str, Json]]) -> Table:
    """Of the cases that were compiled in a pack and by themselves as well: how they ended in both."""
    heads = ("way", "in a pack", "alone", "same bits", "same up to rounding", "different")
    table = Table(*heads, title="One in twenty packed cases, alone as well", box=box.SIMPLE)
    for name, own in ways.items():
        ends = [", ".join(f"{count} {end}" for end, count in own[side].items()) for side in ("packed", "alone")]
        table.add_row(name, *ends, *(str(own[key]) for key in ("same", "close", "different")))
    return table
