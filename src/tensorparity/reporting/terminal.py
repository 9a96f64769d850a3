"""A summary on the terminal that a person reads in ten seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..core.comparison import Comparison
from ..core.finding import Finding
from ..core.operator_errors import Precision
from ..core.precision import HighPrecision
from ..core.self_agreement import SelfAgreement
from ..core.training import Training
from ..core.verdict import Judgement
from . import plain_tables, wording, words
from . import training as trainings
from .facts import Facts, ModelFacts
from .precision import tables
from .standing import REMARK, counted, distinct, standings
from .summary import (
    INSPECTIONS,
    Tone,
    by_class,
    by_urgency,
    place,
    summarize,
    unnamed_targets,
)

#: Beyond these a list is no longer read; the rest is counted.
MAX_PAIRS = 12
MAX_DEFECTS = 10
MAX_EVIDENCE = 3
MAX_STEPS = 12
MAX_LAYERS = 6
MAX_ACCUSED = 6

_TONES = {Tone.PASS: "bold green", Tone.FAIL: "bold red", Tone.UNDECIDED: "bold yellow"}
_JUDGEMENTS = {Judgement.PASS: "green", Judgement.FAIL: "red", Judgement.UNDECIDED: "yellow"}


def render(facts: Facts, console: Console, page: str = "") -> None:
    """Write the summary; whether in colour, and how wide, is the console's affair.

    Args:
        page: the name of the file that shows everything, where one was written.
    """
    _Page(console, page).write(facts)


class _Page:
    """One page on one console. Names and messages only ever become ``Text``, so no markup in them is obeyed."""

    def __init__(self, console: Console, page: str = "") -> None:
        self._console = console
        self._page = page

    def write(self, facts: Facts) -> None:
        summary = summarize(facts)
        for alert in summary.alerts:
            self._line(alert, "bold yellow")
        self._line(summary.headline, _TONES[summary.tone])
        if facts.command in INSPECTIONS:
            self._targets(facts)
        self._models(facts.models)
        self._precision(facts.precision)
        self._pairs(trainings.of_outputs(facts.comparisons or ()))
        self._print_accused(facts)
        self._high_precision(facts.high_precision)
        self._self_agreement(facts.self_agreement)
        self._print_training(facts)
        self._engines(facts)
        self._engine_tables(facts)
        self._classes(facts)
        self._defects(facts)
        self._remarks((*_lost_digits(facts), *summary.open_points, *facts.notes, *_left_out(facts)))
        self._time(facts)

    # --- the parts, from the top of the page to its bottom ---

    def _targets(self, facts: Facts) -> None:
        table = self._table("target", "status", "versions", "remark")
        for target in facts.targets:
            versions = ", ".join(f"{name} {version}" for name, version in target.versions.items())
            remark = wording.one_line(target.reason)
            if target.install:
                remark = f"{remark}; {target.install}" if remark else target.install
            style = "green" if target.usable else "yellow"
            table.add_row(*self._cells(target.name), self._text(target.status, style), *self._cells(versions, remark))
        self._show(table)

    def _models(self, models: Sequence[ModelFacts]) -> None:
        if not models:
            return
        table = self._table("model", "layers", "parameters", "data", "weights", keep=True)
        table.columns[3].no_wrap = table.columns[4].no_wrap = False
        for model in models:
            sizes = (f"{model.layers:,}", f"{model.parameters:,}")
            table.add_row(*self._cells(model.name, *sizes, model.data or "-", _weights(model)))
        self._show(table)

    def _precision(self, precision: Precision | None) -> None:
        """The paper's Tables 1 to 3, or the operators that are furthest off."""
        if precision is None:
            return
        for title, columns, rows in tables(precision):
            self._line(title)
            table = self._table(*columns)
            for row in rows:
                table.add_row(*self._cells(*row))
            self._show(table)

    def _pairs(self, comparisons: Sequence[Comparison]) -> None:
        if not comparisons:
            return
        shown = by_urgency(comparisons)[:MAX_PAIRS]
        table = self._pair_table(shown, " / ")
        endless = self._console.options.update(max_width=10_000)
        if self._console.measure(table, options=endless).maximum > self._console.width:
            table = self._pair_table(shown, "\n")
        self._show(table)
        self._rest(len(comparisons) - len(shown), "pair")

    def _print_accused(self, facts: Facts) -> None:
        """What each localizing rule says of the pair that differs most; ``localize`` was asked for just that."""
        pairs = [pair for pair in by_urgency(facts.comparisons or ()) if pair.accused]
        if facts.command != "localize" or not pairs:
            return
        table = self._table("rule", "accuses, the most suspicious first", keep=True)
        for rule, keys in pairs[0].accused.items():
            more = f" and {len(keys) - MAX_ACCUSED} more" if len(keys) > MAX_ACCUSED else ""
            table.add_row(*self._cells(rule, ", ".join(keys[:MAX_ACCUSED]) + more or "-"))
        self._line(f"{pairs[0].a} / {pairs[0].b}, layer by layer:")
        self._show(table)

    def _pair_table(self, pairs: Sequence[Comparison], between: str) -> Table:
        """What is said of both sides is joined by ``between``: beside or above each other."""
        columns = _columns(pairs, between)
        table = self._table("pair", "verdict", *(title for title, _ in columns), keep=True)
        for column, (title, _) in zip(table.columns[2:], columns, strict=True):
            column.no_wrap = title != _OUTPUT  # names are long, and a figure that is cut is none
        for pair in pairs:
            judgement = pair.verdict.judgement
            verdict = self._text(judgement.value, _JUDGEMENTS[judgement])
            sides = Text(between).join(self._cells(pair.a, pair.b))
            values = [value(pair) or "-" for _, value in columns]
            table.add_row(sides, verdict, *(Text("\n").join(self._cells(*value.split("\n"))) for value in values))
        return table

    def _high_precision(self, run: HighPrecision | None) -> None:
        if run is None or not run.deviations:
            return
        several = len({item.output for item in run.deviations}) > 1
        inputs = wording.count(len(run.inputs), "input")
        table = self._table(f"against float64\n({inputs})", "largest\ndifference", "relative", "labels\nchanged")
        worst_first = sorted(run.deviations, key=lambda item: -_size(item.max_rel))
        for item in worst_first[:MAX_PAIRS] if several else run.deviations:
            name = f"{item.target}, {item.output}" if several else item.target
            changed = "-" if item.labels_changed is None else f"{item.labels_changed}/{len(run.inputs)}"
            table.add_row(*self._cells(name, wording.number(item.max_abs), wording.number(item.max_rel), changed))
        self._show(table)
        self._rest(len(run.deviations) - MAX_PAIRS if several else 0, "output")

    def _self_agreement(self, found: Sequence[SelfAgreement]) -> None:
        if not found:
            return
        table = self._table("against itself", "in", "largest\ndifference", "relative", "labels\nchanged")
        for item in found:
            changed = "-" if item.labels_changed is None else str(item.labels_changed)
            numbers = (_difference(item.max_abs, item.problem), _difference(item.max_rel, "-"))
            table.add_row(*self._cells(item.target, item.way, *numbers, changed))
        self._show(table)

    def _print_training(self, facts: Facts) -> None:
        if facts.training is None:
            return
        self._line("")
        self._line(f"Training: {trainings.headline(facts.training)}")
        self._training_pairs(by_urgency(trainings.of_training(facts.comparisons or ()))[:MAX_PAIRS], facts.training)
        if len(facts.training.losses) < 2:
            return
        self._losses(facts.training)
        self._drift(facts.training)

    def _training_pairs(self, pairs: Sequence[Comparison], training: Training) -> None:
        partings = {(parting.a, parting.b): parting for parting in training.partings}
        table = self._table("training", "verdict", "they diverge", keep=True)
        table.columns[2].no_wrap = False
        for pair in pairs:
            parting = partings.get((pair.a, pair.b))
            where = f"at step {parting.step} in {parting.weight}" if parting else "-"
            judgement = pair.verdict.judgement
            verdict = self._text(judgement.value, _JUDGEMENTS[judgement])
            table.add_row(Text(" / ").join(self._cells(pair.a, pair.b)), verdict, *self._cells(where))
        self._show(table)

    def _losses(self, training: Training) -> None:
        table = self._table("step", *(f"loss on\n{target}" for target in training.losses), "relative\ndifference", "")
        table.columns[0].min_width = None
        for row in trainings.step_rows(training, MAX_STEPS):
            losses = [wording.number(loss, digits=5) for loss in row.losses]
            mark = "< diverging" if row.parts else ""
            cells = self._cells(f"{row.step:,}", *losses, wording.number(row.difference))
            table.add_row(*cells, self._text(mark, "yellow"))
        self._show(table)

    def _drift(self, training: Training) -> None:
        layers = trainings.by_drift(training)
        table = self._table("layer", "weight", f"relative difference\nafter step {training.steps}", "diverges at\nstep")
        for layer in layers[:MAX_LAYERS]:
            weight, parted = layer.weight.partition("/")[2], str(layer.parted or "-")
            table.add_row(*self._cells(layer.layer, weight, wording.number(layer.difference), parted))
        self._show(table)
        self._rest(len(layers) - MAX_LAYERS, "layer")

    def _engines(self, facts: Facts) -> None:
        engines = facts.stats.get("per_engine") or {}
        if not engines or facts.comparisons is not None:
            return
        table = self._table("engine", "cases", "time", "undecided")
        for name, stats in engines.items():
            cases, undecided = (f"{stats.get(key, 0):,}" for key in ("cases", "undecided"))
            table.add_row(*self._cells(name, cases, wording.seconds(stats.get("seconds", 0.0)), undecided))
        self._show(table)

    def _engine_tables(self, facts: Facts) -> None:
        for grid in plain_tables.grids(facts):
            self._line("")
            self._line(grid.title, "bold")
            table = self._table(*grid.columns)
            for row in grid.rows:
                table.add_row(*self._cells(*row))
            self._show(table)

    def _classes(self, facts: Facts) -> None:
        classes = counted(facts)
        if not classes or len(facts.findings) == len(facts.defects) == 1:
            return
        table = self._table("class", "number", "meaning")
        for name, amount, meaning in classes:
            table.add_row(*self._cells(name, f"{amount:,}", meaning))
        self._show(table)

    def _defects(self, facts: Facts) -> None:
        defects = distinct(by_class(facts.defects))
        for index, defect in enumerate(defects[:MAX_DEFECTS], start=1):
            self._line("")
            self._defect(index, defect, facts)
        self._rest(len(defects) - MAX_DEFECTS, "defect")

    def _defect(self, index: int, defect: Finding, facts: Facts) -> None:
        diagnosis = defect.diagnosis
        self._line(f"Defect {index}: {words.title(defect)}", "bold")
        self._item("finding", f"{defect.id}: {words.in_short(defect)}")
        self._item("suspect", wording.names(diagnosis.suspects) or "not decided")
        self._item("where", _where(defect, facts))
        self._item("parameters", wording.parameters(diagnosis.parameters))
        for line in words.sentences(diagnosis)[:MAX_EVIDENCE]:
            self._item("evidence", wording.one_line(line))
        self._item("case", defect.case or "")
        self._item("script", defect.reproducer or "")

    def _remarks(self, remarks: Iterable[str]) -> None:
        for index, remark in enumerate(remarks):
            if index == 0:
                self._line("")
            self._line(" ".join(remark.split()))

    def _time(self, facts: Facts) -> None:
        if facts.command in INSPECTIONS or "seconds" not in facts.stats:
            return
        phases = ", ".join(f"{name} {wording.seconds(value)}" for name, value in facts.phases.items())
        total = wording.seconds(float(facts.stats.get("seconds", 0.0)))
        self._line("")
        if targets := unnamed_targets(facts):
            self._line(targets, "dim")
        self._line(f"Took {total}{f' ({phases})' if phases else ''}; seed {facts.seed}.", "dim")

    # --- how anything gets onto the console ---

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(self._text(text, style))

    def _item(self, label: str, text: str) -> None:
        if not text:
            return
        indent = 13
        for index, line in enumerate(self._text(text).wrap(self._console, max(20, self._console.width - indent))):
            line.rstrip()
            head = f"  {label if index == 0 else '':<{indent - 2}}"
            self._console.print(Text.assemble((head, "dim"), line), soft_wrap=True)

    def _rest(self, amount: int, noun: str) -> None:
        if amount > 0:
            more = wording.count(amount, f"more {noun}", f"more {noun}s")
            where = (
                f"all are in {self._page}, and with --format json" if self._page else "--format html or json has all"
            )
            self._line(f"  ... and {more}: {where}", "dim")

    def _show(self, table: Table) -> None:
        self._line("")
        self._console.print(table)

    def _table(self, *titles: str, keep: bool = False) -> Table:
        """A table without frames; with ``keep``, only the first column's cells may be broken."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        for index, title in enumerate(titles):
            header = Text("\n").join(self._cells(*title.split("\n")))
            table.add_column(header, overflow="fold", no_wrap=keep and index > 0, min_width=12 if index == 0 else None)
        return table

    def _cells(self, *values: str) -> list[Text]:
        return [self._text(value) for value in values]

    def _text(self, text: str, style: str = "") -> Text:
        """Text that cannot steer the terminal and that the console's encoding has."""
        encoding = self._console.encoding or "utf-8"
        return Text(wording.visible(text).encode(encoding, "backslashreplace").decode(encoding), style=style)


def _lost_digits(facts: Facts) -> list[str]:
    """Defects that fail nothing here, a line each."""
    stands = standings(facts)
    remarks = distinct(finding for finding in facts.findings if stands[finding.id] == REMARK)
    return [words.remark(finding) for finding in remarks]


def _left_out(facts: Facts) -> list[str]:
    reason = facts.high_precision.left_out if facts.high_precision else ""
    return [f"not compared with a high-precision run: {reason}"] if reason else []


def _weights(model: ModelFacts) -> str:
    """Which weights a model has, how good they are, and what else is to be said."""
    parts = ["calibrated" if not model.trained else "trained"]
    if model.score is not None and model.spread is None:
        parts = [f"accuracy {wording.share(model.score)}"]
    elif model.score is not None:
        parts = [f"mean error {wording.number(model.score)} (labels spread by {wording.number(model.spread)})"]
    if model.seconds is not None:
        parts.append(f"trained in {wording.seconds(model.seconds)}")
    return "; ".join([", ".join(parts), *([model.remark] if model.remark else [])])


#: A column of the table of pairs: its title, and what it says of a pair (nothing where nothing is known).
_Column = tuple[str, Callable[[Comparison], str]]
_OUTPUT = "output"


def _columns(pairs: Sequence[Comparison], between: str) -> list[_Column]:
    """The columns for which any pair has a value."""
    several = len({pair.output for pair in pairs}) > 1
    distances = dict.fromkeys(distance.name for pair in pairs for distance in pair.distances)
    columns: list[_Column] = [
        (_OUTPUT, lambda pair: pair.output if several else ""),
        ("largest\ndifference", lambda pair: wording.number(pair.max_abs, missing="")),
        ("labels\nchanged", _labels),
        ("accuracy", partial(_accuracy, between)),
        *((f"{name}\n(inputs)", partial(_distance, name)) for name in distances),
    ]
    return [column for column in columns if any(column[1](pair) for pair in pairs)]


def _labels(pair: Comparison) -> str:
    return "" if pair.labels_changed is None else f"{pair.labels_changed}/{pair.instances}"


def _accuracy(between: str, pair: Comparison) -> str:
    if pair.accuracy is None:
        return ""
    a, b = (wording.share(value) for value in pair.accuracy)
    return a if a == b else f"{a}{between}{b}"


def _distance(name: str, pair: Comparison) -> str:
    """The largest distance and, where any input reaches the threshold, how many do."""
    for distance in pair.distances:
        if distance.name == name:
            hits = f" ({distance.triggered:,})" if distance.triggered else ""
            return f"{wording.number(distance.largest)}{hits}"
    return ""


def _where(defect: Finding, facts: Facts) -> str:
    """The layer, and the public name where the layer's type does not already say it."""
    where, api = place(defect, facts.comparisons), defect.diagnosis.api
    return f"{where}, {api}" if api and where != api else where


def _size(difference: float) -> float:
    """What is no number is the largest."""
    return math.inf if math.isnan(difference) else difference


def _difference(value: float | None, otherwise: str) -> str:
    """A number, or that there is no difference at all."""
    if value is None:
        return otherwise
    return "none" if value == 0 else wording.number(value)
