"""The tables and figures of ``precision``: computed here, drawn by the terminal and the page.

The paper's own figures stand beside ours (Zhang et al., "Predoo: Precision Testing of Deep Learning Operators",
ISSTA 2021, Tables 1 to 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..core.operator_errors import OperatorRun, PaperRun, Precision, Spread
from . import charts, wording

#: Table 1: the largest error by input precision and by operator precision. The paper's program averages over the
#: elements of an input, so that ours beside it is the largest of such means.
PAPER_TABLE_1 = {
    "conv2d": (2.84e-3, 3.56e-3),
    "norm": (1.69e-4, 2.53e-4),
    "pooling": (4.95e-4, 4.95e-4),
    "relu": (7.84e-4, 7.84e-4),
    "sigmoid": (1.22e-4, 3.99e-4),
    "softmax": (2.28e-4, 3.66e-4),
    "tanh": (1.52e-4, 2.77e-4),
}
#: Table 2: how many inputs TensorFlow's own tests had, and the seconds the paper's tool took for 20,000.
PAPER_TABLE_2: dict[str, tuple[int | None, tuple[int, int]]] = {
    "conv2d": (32, (268, 371)),
    "norm": (48, (276, 434)),
    "pooling": (4, (96, 158)),
    "relu": (1, (81, 113)),
    "sigmoid": (None, (71, 105)),
    "softmax": (1, (68, 106)),
    "tanh": (None, (77, 107)),
}
#: Table 3: seconds of CRADLE on the trained model, and what it had to say.
PAPER_TABLE_3 = {"zoo:lenet5": (10, "N/A"), "zoo:vgg16": (30, "N/A")}

_INPUT, _OPERATOR = "input_mode", "op_mode"

#: Title, columns, and rows of cells.
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Row1:
    operator: str
    target: str
    by_input: float | None
    by_operator: float | None
    paper: tuple[float, float] | None
    case: str = ""
    means: tuple[float | None, float | None] = (None, None)
    overflows: int = 0


@dataclass(frozen=True, slots=True)
class Row2:
    operator: str
    target: str
    inputs: int
    builtin: int | None
    seconds: tuple[float, float]
    library_seconds: tuple[float, float]
    paper: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator in one dtype: its error in units on every target, and the largest of other measures."""

    operator: str
    dtype: str
    runs: Mapping[str, OperatorRun]
    worst: OperatorRun | None


def _best(runs: Sequence[PaperRun], mode: str) -> float | None:
    return max((run.largest for run in runs if run.mode == mode), default=None)


def _best_mean(runs: Sequence[PaperRun], mode: str) -> float | None:
    return max((run.largest_mean for run in runs if run.mode == mode), default=None)


def _by_operator(precision: Precision) -> dict[tuple[str, str], list[PaperRun]]:
    found: dict[tuple[str, str], list[PaperRun]] = {}
    for run in precision.paper:
        found.setdefault((run.operator, run.target), []).append(run)
    return found


def table_1(precision: Precision) -> list[Row1]:
    return [
        Row1(
            operator,
            target,
            _best(runs, _INPUT),
            _best(runs, _OPERATOR),
            PAPER_TABLE_1.get(operator),
            max(runs, key=lambda run: run.largest).case,
            (_best_mean(runs, _INPUT), _best_mean(runs, _OPERATOR)),
            sum(run.overflows for run in runs),
        )
        for (operator, target), runs in _by_operator(precision).items()
    ]


def table_2(precision: Precision) -> list[Row2]:
    rows = []
    for (operator, target), runs in _by_operator(precision).items():
        builtin, seconds = PAPER_TABLE_2.get(operator, (None, None))
        ours, library = [run.seconds for run in runs], [run.library_seconds for run in runs]
        inputs = max(run.inputs for run in runs)
        rows.append(
            Row2(operator, target, inputs, builtin, (min(ours), max(ours)), (min(library), max(library)), seconds)
        )
    return rows


def operator_rows(precision: Precision) -> list[OperatorRow]:
    groups: dict[tuple[str, str], dict[str, OperatorRun]] = {}
    for run in precision.operators:
        runs = groups.setdefault((run.operator, run.dtype), {})
        known = runs.get(run.target)
        if known is None or _tells_more(run, known):  # of several strategies, the one that found most
            runs[run.target] = run
    rows = []
    for (operator, dtype), runs in groups.items():
        measured = [run for run in runs.values() if run.status == "measured"]
        rows.append(OperatorRow(operator, dtype, runs, max(measured, key=lambda run: run.units, default=None)))
    return rows


def _tells_more(run: OperatorRun, known: OperatorRun) -> bool:
    return run.status == "measured" and (known.status != "measured" or run.units > known.units)


def unsupported_runs(precision: Precision) -> list[OperatorRun]:
    return [run for run in precision.operators if run.status != "measured"]


@dataclass(frozen=True, slots=True)
class Silence:
    """Combinations that no answer came from, for one reason."""

    why: str
    count: int
    operators: tuple[str, ...]
    targets: tuple[str, ...]
    dtypes: tuple[str, ...]


def silences(precision: Precision) -> list[Silence]:
    """What is missing, by reason; the most frequent first."""
    groups: dict[str, list[OperatorRun]] = {}
    for run in unsupported_runs(precision):
        why = run.reason.replace(f"has no {run.operator}", "has no such function") or run.status
        groups.setdefault(why, []).append(run)
    found = [
        Silence(
            why,
            len(runs),
            tuple(dict.fromkeys(run.operator for run in runs)),
            tuple(dict.fromkeys(run.target for run in runs)),
            tuple(dict.fromkeys(run.dtype for run in runs)),
        )
        for why, runs in groups.items()
    ]
    return sorted(found, key=lambda silence: -silence.count)


def unmeasured_parameters(precision: Precision) -> list[tuple[OperatorRun, str]]:
    """The parameters that could not be measured, of what could be with others."""
    return [(run, lack) for run in precision.operators if run.status == "measured" for lack in run.lacks]


@dataclass(frozen=True, slots=True)
class Figure:
    title: str
    text: str
    drawing: Markup


def figures(precision: Precision) -> list[Figure]:
    """The paper's Figures 2 to 5, and how the largest error grew over the 20 groups."""
    if precision.paper:
        return [figure for target in _targets(precision) for figure in _paper_figures(precision, target)]
    if precision.operators:
        return _operator_figures(precision)
    return []


def _targets(precision: Precision) -> list[str]:
    return list(dict.fromkeys(run.target for run in precision.paper))


def _paper_figures(precision: Precision, target: str) -> list[Figure]:
    runs = [run for run in precision.paper if run.target == target]
    where = f" on {target}"
    found = []
    for letter, mode, what in (("a", _INPUT, "input"), ("b", _OPERATOR, "operator")):
        spreads = {run.operator: run.spread for run in _one_strategy(runs) if run.mode == mode}
        if spreads:
            drawing = charts.boxes({mode: spreads}, f"absolute error, {what} precision")
            text = f"Distribution of the error over all inputs when the {what} precision changes{where}; no outliers."
            found.append(Figure(f"Figure 2{letter}: {what} precision", text, drawing))
    found.append(_threshold_figure(runs, where))
    found += _strategy_figures(runs, where)
    growth = {
        run.operator: run.groups for run in _one_strategy(runs) if run.mode == _OPERATOR or len(_modes(runs)) == 1
    }
    text = f"Largest error of each of the 20 groups of inputs, in the order they were run{where}, operator precision."
    found.append(Figure("Growth over the groups", text, charts.lines(growth, "absolute error, the largest per group")))
    return found


def _threshold_figure(runs: Sequence[PaperRun], where: str) -> Figure:
    """Figure 3: errors over what the library's own rule, rtol |P'| + atol, allows where they are."""
    ratios: dict[str, float | None] = {run.operator: None for run in runs}
    for run in runs:
        if run.over_tolerance is not None:
            ratios[run.operator] = max(ratios[run.operator] or 0.0, run.over_tolerance)
    allowed: dict[str, float | None] = {operator: None if ratio is None else 1.0 for operator, ratio in ratios.items()}
    series: dict[str, Mapping[str, float | None]] = {"largest error found": ratios, "built-in threshold": allowed}
    source = next((run.tolerance_source for run in runs if run.tolerance_source), "its own tests")
    text = f"Largest error found{where}, over rtol |P'| + atol of {source} in the narrower precision at that element."
    title = "Figure 3: largest error against the built-in threshold"
    return Figure(title, text, charts.bars(series, "error over the threshold"))


def _modes(runs: Sequence[PaperRun]) -> set[str]:
    return {run.mode for run in runs}


def _one_strategy(runs: Sequence[PaperRun]) -> list[PaperRun]:
    """The runs of one strategy: guided by the largest element where there is such a run."""
    names = [run.strategy for run in runs]
    chosen = "linf" if "linf" in names else names[0]
    return [run for run in runs if run.strategy == chosen]


def _strategy_figures(runs: Sequence[PaperRun], where: str) -> list[Figure]:
    strategies = list(dict.fromkeys(run.strategy for run in runs))
    if len(strategies) < 2:
        return []
    bars: dict[str, dict[str, float | None]] = {}
    boxes: dict[str, dict[str, Spread]] = {}
    for strategy in strategies:
        own = [run for run in runs if run.strategy == strategy]
        bars[strategy] = {
            run.operator: max(other.largest for other in own if other.operator == run.operator) for run in own
        }
        boxes[strategy] = {run.operator: run.spread for run in own if run.mode == _OPERATOR or len(_modes(runs)) == 1}
    text = f"Largest error found by each strategy{where}."
    spread = f"Distribution of the error by strategy{where}; no outliers."
    return [
        Figure(
            "Figure 4: strategies, largest error", text, charts.bars(bars, "absolute error, the largest of all modes")
        ),
        Figure("Figure 5: strategies, distribution", spread, charts.boxes(boxes, "absolute error, operator precision")),
    ]


def _operator_figures(precision: Precision) -> list[Figure]:
    """The worst operators' growth; all of them would be a tangle."""
    measured = [run for run in precision.operators if run.status == "measured" and run.units > 0]
    measured.sort(key=lambda run: -min(run.units, 1e30))
    worst = {f"{run.operator} {run.dtype} {run.target}": run.groups for run in measured[:5]}
    if not worst:
        return []
    text = "Largest error so far, in units of what rounding explains, over the groups of inputs: the five worst."
    return [Figure("Growth over the groups", text, charts.lines(worst, "error over what rounding explains"))]


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return "inf" if math.isinf(value) else f"{value:.3g}"


def interval(values: tuple[float, float]) -> str:
    low, high = values
    shown = [f"{value:.1f}" if value < 100 else f"{value:.0f}" for value in (low, high)]
    return f"[{shown[0]}, {shown[1]}]" if shown[0] != shown[1] else shown[0]


@dataclass(frozen=True, slots=True)
class View:
    """Everything the page shows, measured."""

    table_1: Sequence[Row1]
    table_2: Sequence[Row2]
    table_3: Mapping[str, tuple[int, str]]
    figures: Sequence[Figure]
    rows: Sequence[OperatorRow]
    targets: Sequence[str]
    unsupported: Sequence[OperatorRun]
    silences: Sequence[Silence]
    lacking: Sequence[tuple[OperatorRun, str]]
    number: Callable[[float | None], str] = number
    interval: Callable[[tuple[float, float]], str] = interval


def view(precision: Precision) -> View:
    targets = list(dict.fromkeys(run.target for run in precision.operators))
    return View(
        table_1(precision),
        table_2(precision),
        PAPER_TABLE_3,
        figures(precision),
        operator_rows(precision),
        targets,
        unsupported_runs(precision),
        silences(precision),
        unmeasured_parameters(precision),
    )


#: Operators the terminal lists; the page has all. So many names are spelled out.
_LISTED, _NAMED = 15, 2
_ALL_DTYPES = 4


def tables(precision: Precision) -> list[Table]:
    """Titles, columns and cells for the terminal."""
    found: list[Table] = []
    if precision.paper:
        found += [_first_table(precision), _second_table(precision)]
    if precision.models:
        columns = ("model", "seconds", "the paper's", "operators", "problem")
        rows = [
            (
                run.model,
                number(run.seconds),
                str(PAPER_TABLE_3.get(run.model, ("–", ""))[0]),
                ", ".join(run.operators),
                run.problem,
            )
            for run in precision.models
        ]
        found.append(("Table 3: what compare sees of the same operators", columns, rows))
    if precision.operators:
        found.append(_worst_table(precision))
    if unsupported_runs(precision):
        found.append(_silent_table(precision))
    if unmeasured_parameters(precision):
        found.append(_lacking_table(precision))
    return found


def _table_without_target(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table whose second column is the target; where there is only one, the title says it."""
    targets = {row[1] for row in rows}
    if len(targets) != 1:
        return (title, columns, rows)
    return (f"{title} on {targets.pop()}", [columns[0], *columns[2:]], [[row[0], *row[2:]] for row in rows])


def _first_table(precision: Precision) -> Table:
    columns = (
        "operator",
        "target",
        "input precision: mean",
        "the paper's mean",
        "largest",
        "operator precision: mean",
        "the paper's mean",
        "largest",
        "overflows",
    )
    rows = [
        (
            row.operator,
            row.target,
            number(row.means[0]),
            number(row.paper[0] if row.paper else None),
            number(row.by_input),
            number(row.means[1]),
            number(row.paper[1] if row.paper else None),
            number(row.by_operator),
            str(row.overflows),
        )
        for row in table_1(precision)
    ]
    title = "Table 1: largest error for each operator, as a mean over an input's elements and of one element"
    return _table_without_target(title, columns, rows)


def _second_table(precision: Precision) -> Table:
    columns = ("operator", "target", "inputs", "built-in tests'", "seconds", "CPU s of calls", "the paper's s")
    rows = [
        (
            row.operator,
            row.target,
            f"{row.inputs:,}",
            "N/A" if row.builtin is None else str(row.builtin),
            interval(row.seconds),
            interval(row.library_seconds),
            interval(row.paper) if row.paper else "–",
        )
        for row in table_2(precision)
    ]
    return _table_without_target("Table 2: inputs and time", columns, rows)


def _silent_table(precision: Precision) -> Table:
    columns = ("combinations", "operators", "targets", "dtypes", "why")
    every = silences(precision)
    cells = [
        (
            str(item.count),
            _few(item.operators),
            _few(item.targets),
            "all" if len(item.dtypes) == _ALL_DTYPES else ", ".join(item.dtypes),
            wording.one_line(item.why),
        )
        for item in every[:_LISTED]
    ]
    rest = f"; {len(every) - _LISTED} further reasons are in the report" if len(every) > _LISTED else ""
    return (f"Without an answer: {len(unsupported_runs(precision))} combinations{rest}", columns, cells)


def _lacking_table(precision: Precision) -> Table:
    every = unmeasured_parameters(precision)
    cells = [(run.operator, run.dtype, run.target, wording.one_line(lack)) for run, lack in every[:_LISTED]]
    rest = f"; {len(every) - _LISTED} more are in the report" if len(every) > _LISTED else ""
    title = f"Not with these parameters: {len(every)} combinations{rest}"
    return (title, ("operator", "dtype", "target", "parameters, and why"), cells)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)}"


def _worst_table(precision: Precision) -> Table:
    rows = [row.worst for row in operator_rows(precision) if row.worst is not None]
    rows.sort(key=lambda run: -min(run.units, 1e30))
    columns = ("operator", "dtype", "target", "units", "absolute", "relative", "ulps", "rtol, atol")
    cells = [
        (
            run.operator,
            run.dtype,
            run.target,
            number(run.units),
            number(run.absolute),
            number(run.relative),
            number(run.ulps),
            f"{run.tolerance[0]:.1g}, {run.tolerance[1]:.1g}" if run.tolerance else "–",
        )
        for run in rows[:_LISTED]
    ]
    return (f"Largest errors: the first {len(cells)} of {len(rows)} operators by dtype", columns, cells)
