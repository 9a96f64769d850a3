"""Tables and figures of ``precision``, on numbers made up for them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rich.console import Console

from tensorparity.core.operator_errors import ModelRun, OperatorRun, PaperRun, Precision, Spread
from tensorparity.reporting import html, json_document, terminal
from tensorparity.reporting.charts import Axis, bars, boxes, lines
from tensorparity.reporting.facts import Facts, TargetFacts
from tensorparity.reporting.precision import (
    PAPER_TABLE_1,
    figures,
    operator_rows,
    silences,
    table_1,
    table_2,
    tables,
    unsupported_runs,
)


def paper_run(operator: str, mode: str, strategy: str, largest: float) -> PaperRun:
    return PaperRun(
        operator, "tensorflow:eager", strategy, mode, ("float16", "float32", "float64"), (28, 28, 3), 20_000, largest,
        largest * 10, tuple(largest * step / 20 for step in range(1, 21)),
        Spread(0.0, largest / 8, largest / 4, largest / 2, largest), 3.5, 2.5, tolerance=(1e-3, 1e-3),
        exceptions={"UnimplementedError: <b>": 7}, largest_mean=largest / 3, overflows=2, over_tolerance=1234.5,
    )  # fmt: skip


@pytest.fixture
def paper() -> Precision:
    runs = [
        paper_run(operator, mode, strategy, 1e-3 * (1 + index))
        for index, operator in enumerate(("conv2d", "relu"))
        for mode in ("input_mode", "op_mode")
        for strategy in ("random", "linf")
    ]
    models = (ModelRun("zoo:lenet5", 12.0, ("conv2d", "pooling"), "none"),)
    return Precision("paper", 16.0, tuple(runs), models=models)


@pytest.fixture
def operators() -> Precision:
    return Precision(
        "operator",
        16.0,
        operators=(
            OperatorRun("sigmoid", "activations", "torch:eager", "float32", "guided", "measured", inputs=10, units=0.4),
            OperatorRun(
                "sigmoid", "activations", "onnxruntime", "float32", "guided", "measured", inputs=10, units=float("inf"),
                worst=(-20.0,), tolerance=(1e-4, 1e-5), groups=(1.0, 2.0),
            ),
            OperatorRun("mish", "activations", "keras:jax", "float32", "guided", "unsupported", "keras has no mish"),
        ),
    )  # fmt: skip


def facts_of(precision: Precision) -> Facts:
    stats = {"cases": 3, "seconds": 1.0, "undecided": 0, "per_engine": {}}
    return Facts("precision", 0, (TargetFacts("torch:eager"),), stats, precision=precision)


def test_table_1_stands_beside_the_papers(paper: Precision) -> None:
    first, second = table_1(paper)
    assert (first.operator, first.by_input, first.by_operator) == ("conv2d", 1e-3, 1e-3)
    assert first.paper == PAPER_TABLE_1["conv2d"] == (2.84e-3, 3.56e-3)
    assert second.by_operator == 2e-3


def test_table_2_has_inputs_and_seconds(paper: Precision) -> None:
    first, second = table_2(paper)
    assert (first.inputs, first.builtin, first.seconds, first.paper) == (20_000, 32, (3.5, 3.5), (268, 371))
    assert second.builtin == 1


def test_all_figures_are_there(paper: Precision) -> None:
    titles = [figure.title for figure in figures(paper)]
    assert [title.partition(":")[0] for title in titles] == [
        "Figure 2a", "Figure 2b", "Figure 3", "Figure 4", "Figure 5", "Growth over the groups"
    ]  # fmt: skip
    for figure in figures(paper):
        assert str(figure.drawing).startswith('<svg class="plot"')  # .chart is styled for trainings


def test_what_gave_no_answer_is_listed(operators: Precision) -> None:
    assert [(run.operator, run.reason) for run in unsupported_runs(operators)] == [("mish", "keras has no mish")]
    (silence,) = silences(operators)
    assert (silence.why, silence.count, silence.operators) == ("keras has no such function", 1, ("mish",))
    assert any(title.startswith("Without an answer: 1") for title, *_ in tables(operators))
    rows = operator_rows(operators)
    assert rows[0].worst is not None
    assert rows[0].worst.target == "onnxruntime"
    assert rows[1].worst is None


def test_of_several_strategies_the_largest_error_is_shown(operators: Precision) -> None:
    weaker = [replace(run, strategy="random", units=min(run.units, 1e9) / 100) for run in operators.operators]
    both = replace(operators, operators=(*operators.operators, *weaker))
    assert [row.worst for row in operator_rows(both)] == [row.worst for row in operator_rows(operators)]
    turned = replace(operators, operators=(*weaker, *operators.operators))
    assert [row.worst for row in operator_rows(turned)] == [row.worst for row in operator_rows(operators)]


@pytest.mark.parametrize("name", ["paper", "operators"])
def test_every_renderer_takes_it(name: str, request: pytest.FixtureRequest) -> None:
    facts = facts_of(request.getfixturevalue(name))
    page = html.render(facts)
    assert "<svg" in page
    document = json.loads(json_document.render(facts))
    assert document["precision"]["bound"] == 16.0
    console = Console(width=140, record=True, file=None, quiet=False)
    with console.capture() as captured:
        terminal.render(facts, console)
    text = captured.get()
    if name == "paper":
        assert "Table 1" in page
        assert "0.00284" in text
        assert "[268, 371]" in text
        assert "Table 3" in text
    else:
        assert "keras has no mish" in page
        assert "inf" in text


def test_names_in_charts_are_escaped() -> None:
    drawn = str(bars({"<a>": {"<b>": 1.0, "none": None}}, '"label"'))
    assert "<b>" not in drawn
    assert "&lt;b&gt;" in drawn
    assert "n/a" in drawn


def test_axes_are_logarithmic_and_bear_zero() -> None:
    axis = Axis.over([0.0, 1e-4, 1e-2, float("inf")])
    assert (axis.low, axis.high) == (-4, -2)
    assert axis.at(0.0) >= axis.at(1e-4) > axis.at(1e-3) > axis.at(1e-2)
    assert Axis.over([]).low < Axis.over([]).high
    assert "<polyline" in str(lines({"a": [1.0, 2.0]}, "x"))
    assert "<rect" in str(boxes({"a": {"b": Spread(1, 2, 3, 4, 5)}}, "x"))


def test_means_stand_beside_the_papers_means_and_overflows_are_counted(paper: Precision) -> None:
    first = table_1(paper)[0]
    assert first.means == (pytest.approx(1e-3 / 3), pytest.approx(1e-3 / 3))
    assert first.overflows == 8, "of two modes and two strategies"


def test_figure_3_is_by_the_librarys_own_rule(paper: Precision) -> None:
    figure = next(figure for figure in figures(paper) if figure.title.startswith("Figure 3"))
    assert "1.23e+03" in figure.drawing or "1234" in figure.drawing or "1,234" in figure.drawing
    assert "rtol |P'| + atol" in figure.text
