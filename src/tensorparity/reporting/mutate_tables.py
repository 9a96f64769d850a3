"""The paper's tables 1 to 4 and figure 4 for the targets of today, and the fitness curves of all searches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..core.jsontext import Json
from . import charts
from .facts import Facts
from .fuzz_tables import Grid

_STRATEGIES = {"net": "NET", "input": "IN", "weight": "WT", "input+weight": "IN-WT"}
#: Columns of names; the others hold numbers.
_NAMES = frozenset(["model", "pair", "target", "behaviour", "networks", "goal", "level"])
#: What the paper reports: by model, the networks of 20 with NaN and the seconds until it, on TensorFlow and on Theano.
_PAPERS_NAN = {
    "resnet20": "17.5 in 10.61, 17.4 in 16.17",
    "vgg16": "11.35 in 805.67, 12.95 in 911.67",
    "mobilenetv2": "16.55 in 48.81, 16.65 in 53.19",
}
#: Its inconsistencies by model: TensorFlow with CNTK and with Theano, CNTK with Theano, TensorFlow with PyTorch; and of
#: all models, by pair and strategy.
_PAPERS_INCONSISTENCIES = {
    "lenet5": "42, 99, 100, 17",
    "resnet20": "252, 252, 45, 31",
    "vgg16": "25, 26, 23, 9",
    "mobilenetv2": "34, 33, 35, -",
    "simplernn-imdb": "17, 16, 9, -",
    "lstm5-imdb": "303, 32, 285, -",
    "gru-imdb": "53, 43, 40, -",
}
_PAPERS_PAIRS = {
    "TensorFlow / CNTK": (726, 182, 35, 150, 359),
    "TensorFlow / Theano": (501, 199, 34, 97, 171),
    "CNTK / Theano": (537, 136, 28, 97, 276),
    "TensorFlow / PyTorch": (57, 25, 7, 9, 16),
}
#: By model: layers, places that Algorithm 2 accuses, layers that CRADLE's rule does, what share of the innocent.
_PAPERS_LOCALIZATION = {
    "lenet5": "9, 1.15, 2, 10.87 %",
    "vgg16": "56, 1.5, 14, 22.94 %",
    "resnet20": "71, 2.18, 18, 22.98 %",
    "mobilenetv2": "158, 3.2, 40, 23.77 %",
    "simplernn-imdb": "5, 1, 1, 0 %",
    "lstm5-imdb": "5, 1, 1, 0 %",
    "gru-imdb": "5, 1, 1, 0 %",
}
#: Its bugs by behaviour (Table 4), and the cases of its Figure 4.
_PAPERS_BUGS = {"nan": 8, "crash": 13, "inconsistency": 5}
_PAPERS_CASES = {True: 1145, False: 1332}
#: Curves in one chart, and what stands for a fitness that is infinite.
_CURVES = 8
_TOP = 1e38
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class MutateView:
    """What section 3 of the paper reports, for one run.

    Args:
        curves: by what was searched for, the best fitness of the searches, generation by generation.
    """

    grids: Sequence[Grid]
    lines: Sequence[str]
    curves: Sequence[Markup]


def view(facts: Facts) -> MutateView | None:
    """None for a run that mutated nothing."""
    tables: Mapping[str, Json] | None = facts.stats.get("tables")
    if tables is None or "table1" not in tables:
        return None
    made = (_table1, _searches, _individuals, _table2, _table3, _table4, _figure4, _reactions)
    grids = [grid for make in made if (grid := make(tables)) is not None and grid.rows]
    return MutateView(grids, notes(facts.stats), curves_of(tables.get("curves", ())))


def render(facts: Facts, console: Console) -> None:
    """Write them on the terminal."""
    shown = view(facts)
    if shown is None:
        return
    for grid in shown.grids:
        table = Table(title=grid.title, box=box.SIMPLE, title_justify="left")
        for column in grid.columns:
            table.add_column(Text(column), justify="left" if column in _NAMES else "right")
        for row in grid.rows:
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)
    for line in shown.lines:
        console.print(Text(line))


def _table1(tables: Mapping[str, Json]) -> Grid:
    """Ours by model, then the paper's of all models together, for the pairs of its day."""
    rows = [
        [row["model"], row["pair"], str(row["total"]), *(_searched(row, level) for level in _STRATEGIES)]
        + [_papers(_PAPERS_INCONSISTENCIES, row["model"])]
        for row in tables.get("table1") or ()
    ]
    if any(row[-1] != "-" for row in rows):
        rows += [["paper, all seven", pair, *map(str, counts), "-"] for pair, counts in _PAPERS_PAIRS.items()]
    columns = ["model", "pair", "Tot", *_STRATEGIES.values(), "paper's Tot (TF-CN, TF-TH, CN-TH, TF-PTH)"]
    return Grid("Table 1: inconsistencies by strategy", columns, rows)


def _papers(figures: Mapping[str, str], model: str) -> str:
    """What the paper has of a model, whatever data it is trained on here."""
    return figures.get(model.removesuffix("-cifar10"), "-")


def _searched(row: Mapping[str, Json], level: str) -> str:
    """A count, or a dash where no search was made."""
    return str(row[level]) if level == "net" or row["searches"].get(level) else "-"


def _searches(tables: Mapping[str, Json]) -> Grid:
    """How far the fitness came: of the first generation, and at the end, by what was searched."""
    groups: dict[tuple[str, ...], list[Mapping[str, Json]]] = {}
    for curve in tables.get("curves") or ():
        groups.setdefault((curve["goal"], curve["level"], " / ".join(curve["targets"])), []).append(curve)
    rows = [
        [*names, str(len(own)), str(sum(one["curve"][-1][0] for one in own if one["curve"])), *_reached(own)]
        for names, own in groups.items()
    ]
    columns = ["goal", "level", "target", "searches", "evaluations", "fitness at first", "at last", "failures"]
    return Grid("Searches", columns, rows)


def _reached(searches: Sequence[Mapping[str, Json]]) -> tuple[str, str, str]:
    """The best fitness of the first generations and of the last ones, and how many individuals failed."""
    first, last = (max((float(one["curve"][at][1]) for one in searches if one["curve"]), default=0.0) for at in (0, -1))
    return f"{first:.3g}", f"{last:.3g}", str(sum(one["failures"] for one in searches))


def _individuals(tables: Mapping[str, Json]) -> Grid:
    """What failed in a search and lies outside of what users have is nobody's fault: counted by what lies outside."""
    rows = tables.get("individuals") or ()
    causes = list(dict.fromkeys(cause for row in rows for cause in row["outside"]))
    made = [
        [
            *(row[name] for name in ("model", "goal", "level")),
            *(str(row[name]) for name in ("failed", "judged", "dropped")),
            *(str(row["outside"].get(cause, 0)) for cause in causes),
        ]
        for row in rows
    ]
    columns = ["model", "goal", "level", "failed", "judged", "not kept", *causes]
    return Grid(
        "Individuals that failed: judged within the data's range, else counted by what is outside", columns, made
    )


def _table2(tables: Mapping[str, Json]) -> Grid:
    rows = []
    for row in tables.get("table2") or ():
        innocent = "-" if row["innocent"] is None else f"{100.0 * row['innocent']:.1f} %"
        accused = f"{row['accused']:.2f}", f"{row['highlighted']:.1f}"
        rows.append([row["model"], str(row["networks"]), str(row["layers"]), *accused, innocent])
        rows[-1].append(_papers(_PAPERS_LOCALIZATION, row["model"]))
    columns = ["model", "networks", "layers", "places accused", "CRADLE's", "of the innocent", "paper, likewise"]
    return Grid("Table 2: localization of inconsistent networks", columns, rows)


def _table3(tables: Mapping[str, Json]) -> Grid:
    rows = []
    for row in tables.get("table3") or ():
        if row["searched"] or row["net"]:
            median, seconds = (
                "-" if row.get(name) is None else f"{row[name]:{form}}"
                for name, form in (("evaluations", ".0f"), ("seconds", ".2f"))
            )
            counts = (str(row[name]) for name in ("net", "searched"))
            paper = _papers(_PAPERS_NAN, row["model"])
            own = [*counts, f"{row['nan']:g}", seconds, median, str(row.get("repeats", 1)), paper]
            rows.append([row["model"], row["target"], *own])
    columns = ["model", "target", "NET", "searched", "with NaN (mean)", "seconds (mean)", "evaluations (median)"]
    return Grid("Table 3: NaN", [*columns, "repeats", "paper, of 20 (TensorFlow, Theano)"], rows)


def _table4(tables: Mapping[str, Json]) -> Grid:
    """With the paper's 26 beside them, wherever a defect was found or the paper had one."""
    found = tables.get("table4")
    if found is None:
        return Grid("Table 4", [], [])
    suspects = sorted({name for own in found.values() for name in own if name != "total"})
    names = list(dict.fromkeys([*found, *_PAPERS_BUGS]))
    rows = [
        [name, *(str(found.get(name, {}).get(key, 0)) for key in (*suspects, "total")), str(_PAPERS_BUGS.get(name, 0))]
        for name in names
    ]
    sums = [str(sum(own.get(key, 0) for own in found.values())) for key in (*suspects, "total")]
    rows.append(["all", *sums, str(sum(_PAPERS_BUGS.values()))])
    columns = ["behaviour", *suspects, "total", "paper"]
    return Grid("Table 4: distinct defects by behaviour and suspect", columns, rows)


def _figure4(tables: Mapping[str, Json]) -> Grid:
    rows = []
    for row in tables.get("figure4") or ():
        kind = "inconsistent" if row["inconsistent"] else "consistent"
        rows.append([row["model"], kind, str(row["cases"]), *(f"{value:.3g}" for value in row["quantiles"])])
    for inconsistent, paper in _PAPERS_CASES.items() if rows else ():
        own = sum(row["cases"] for row in tables["figure4"] if row["inconsistent"] is inconsistent)
        kind = "inconsistent" if inconsistent else "consistent"
        rows.append([f"all (paper: {paper:,})", kind, str(own), *["-"] * 5])
    columns = ["model", "networks", "pairs", "least", "25 %", "median", "75 %", "most"]
    return Grid("Figure 4: top-1 change rates of networks and pairs", columns, rows)


def _reactions(tables: Mapping[str, Json]) -> Grid:
    names = ("refuses", "raises-raw", "accepts", "dies", "hangs")
    rows = [
        [row["target"], *(str(row.get(name, 0)) for name in names)]
        for row in tables.get("reactions") or ()
        if any(row.get(name) for name in names)
    ]
    columns = ["target", "refused clearly", "raised raw", "accepted", "died", "hung"]
    return Grid("How invalid values are handled", columns, rows)


def notes(stats: Mapping[str, Json]) -> list[str]:
    """The split of root causes, and how much of the paper's protocol was run."""
    lines = []
    causes = stats.get("tables", {}).get("root_causes")
    if causes:
        split = ", ".join(f"{count} {name}" for name, count in causes["pairs"].items() if count) or "none"
        aside = ", ".join(f"{count} {name}" for name, count in causes["set_aside"].items())
        lines.append(f"Root causes, distinct (layer, parameters) by class: {split}")
        lines.append("The paper: 68 bugs and 83 implementation differences of 151, and 20 of precision that it sampled")
        lines += [f"Counted only, because no target is to blame: {aside}"] if aside else []
    weightless = stats.get("tables", {}).get("weightless")
    if weightless:
        lines.append(f"Weights are part of the model on {', '.join(weightless)}: searches there move only the inputs")
    fraction = stats.get("fraction")
    if fraction:
        lines.append(
            f"Of the paper's protocol: {fraction['variants']} of {fraction['variants_of_protocol']} variants, "
            f"{fraction['searches']} searches ({fraction['searched_per_pair']} of "
            f"{fraction['searched_per_pair_of_protocol']} networks for each pair or target)"
        )
    return lines


# Curves


def curves_of(searches: Sequence[Json]) -> list[Markup]:
    """The best fitness of every search, on a logarithmic scale, a few in each chart."""
    drawn = []
    for goal in dict.fromkeys(search["goal"] for search in searches):
        own = [search for search in searches if search["goal"] == goal]
        for start in range(0, len(own), _CURVES):
            series = {f"{start + n + 1}. {_name(one)}": _values(one) for n, one in enumerate(own[start:][:_CURVES])}
            drawn.append(charts.lines(series, f"best fitness ({goal}) by generation, log10"))
    return drawn


def _name(search: Mapping[str, Json]) -> str:
    failed = f", first failure after {search['failed_at']}" if search["failed_at"] else ""
    return f"{search['variant']}, {search['level']}, {' / '.join(search['targets'])}{failed}"


def _values(search: Mapping[str, Json]) -> list[float]:
    return [math.log10(min(max(float(value), _LEAST), _TOP)) for _, value in search["curve"]]
