"""``mutate``: what is made of its findings, what it prints, and that a run can be gone on with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich.console import Console

from tensorparity.commands.root_causes import bug_table, root_causes
from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Kind, Stage
from tensorparity.reporting.facts import Facts
from tensorparity.reporting.html import render as render_html
from tensorparity.reporting.mutate_tables import render, view


def finding(name: str, kind: Kind, klass: Class, suspects: tuple[str, ...], **params: Any) -> Finding:
    diagnosis = Diagnosis(klass, suspects, api="keras.layers.Conv2D", parameters=params)
    return Finding(name, "audee", kind, Stage.FORWARD, ("a", "b"), diagnosis, name)


FINDINGS = (
    finding("1", Kind.ERROR, Class.DEFECT, ("a",), padding="same"),
    finding("2", Kind.CRASH, Class.DEFECT, ("a", "b"), strides=0),
    finding("3", Kind.NAN, Class.DEFECT, ("b",)),
    finding("4", Kind.INCONSISTENCY, Class.DEFECT, ("b",), padding="same"),
    finding("5", Kind.INCONSISTENCY, Class.PRECISION, ()),
)


def test_table_4_counts_defects_by_behaviour_and_suspect() -> None:
    table = bug_table(FINDINGS, ("a", "b"))
    assert table == {
        "crash": {"a": 2, "b": 1, "total": 2},
        "inconsistency": {"b": 1, "total": 1},
        "nan": {"b": 1, "total": 1},
    }


def test_root_causes_are_distinct_layers_and_parameters_by_class() -> None:
    split = root_causes(FINDINGS, {"precision": 7})
    assert split["pairs"]["defect"] == 3, "padding is one pair, whoever shows it"
    assert split["pairs"]["precision"] == 1
    assert split["set_aside"] == {"precision": 7}


def facts() -> Facts:
    curve = {"model": "small", "variant": "small-v1", "level": "input", "goal": "inconsistency", "targets": ["a", "b"]}
    tables = {
        "models": {"small": {"layers": 3, "inputs": 5, "valid": 3, "invalid": 1}},
        "table1": [
            {
                "model": "small",
                "pair": "a / b",
                "total": 3,
                "net": 2,
                "input": 1,
                "weight": 0,
                "input+weight": 0,
                "searches": {"input": 1},
            },
            {"model": "lstm5-imdb", "pair": "a / b", "total": 0, "searches": {}}
            | {"net": 0, "input": 0, "weight": 0, "input+weight": 0},
        ],
        "table2": [
            {"model": "small", "networks": 2, "layers": 3, "accused": 1.5, "highlighted": 1.0, "innocent": 0.25},
            {"model": "resnet20", "networks": 1, "layers": 72} | {"accused": 1.0, "highlighted": 18.0, "innocent": 0.2},
        ],
        "table3": [{"model": "small", "target": "a", "net": 1, "searched": 2, "nan": 1, "evaluations": 40.0}]
        + [
            {"model": "resnet20-cifar10", "target": "a", "net": 0, "searched": 20, "repeats": 5, "nan": 12.4}
            | {"evaluations": 80.0, "seconds": 1.25}
        ],
        "table4": bug_table(FINDINGS, ("a", "b")),
        "figure4": [{"model": "small", "inconsistent": True, "cases": 2, "quantiles": [1.0, 2.0, 3.0, 4.0, 5.0]}],
        "reactions": [{"target": "a", "refuses": 1, "raises-raw": 0, "accepts": 0, "dies": 0, "hangs": 3}],
        "root_causes": root_causes(FINDINGS, {"precision": 7}),
        "curves": [{**curve, "failed_at": 9, "failures": 2, "strategy": "genetic", "curve": [[6, 0.5], [10, 1e300]]}],
    }
    outside = {"negative variance": 4, "inputs out of range": 2}
    failed = {"model": "small", "goal": "nan", "level": "weight", "failed": 9, "judged": 2, "dropped": 1}
    tables |= {"individuals": [{**failed, "outside": outside}], "weightless": ["onnxruntime"]}
    fraction = {
        "variants": 4,
        "variants_of_protocol": 500,
        "searches": 1,
        "searched_per_pair": 1,
        "searched_per_pair_of_protocol": 20,
    }
    return Facts("mutate", 0, (), {"cases": 4, "undecided": 0, "tables": tables, "fraction": fraction})


def test_all_tables_are_printed_and_say_the_fraction_that_was_run() -> None:
    console = Console(width=200, record=True)
    render(facts(), console)
    text = console.export_text()
    for title in ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 4", "How invalid values are handled"):
        assert title in text
    assert "4 of 500 variants" in text
    assert "3 defect, 1 precision" in text
    assert "7 precision" in text


def test_a_strategy_without_a_search_has_a_dash() -> None:
    shown = view(facts())
    assert shown is not None
    assert shown.grids[0].rows[0] == ["small", "a / b", "3", "2", "1", "-", "-", "-"]


def test_individuals_that_failed_are_counted_by_what_lies_outside() -> None:
    shown = view(facts())
    assert shown is not None
    (grid,) = [grid for grid in shown.grids if "negative variance" in grid.columns]
    assert grid.rows == [["small", "nan", "weight", "9", "2", "1", "4", "2"]]


def test_the_papers_figures_stand_beside_ours() -> None:
    shown = view(facts())
    assert shown is not None
    grids = {grid.title.partition(":")[0]: grid.rows for grid in shown.grids}
    assert grids["Table 3"][1] == [
        *("resnet20-cifar10", "a", "0", "20", "12.4", "1.25", "80", "5"),
        "17.5 in 10.61, 17.4 in 16.17",
    ]
    assert [[row[0], *row[-2:]] for row in grids["Table 4"]] == [
        ["crash", "2", "13"],
        ["inconsistency", "1", "5"],
        ["nan", "1", "8"],
        ["all", "4", "26"],
    ]
    assert ["all (paper: 1,145)", "inconsistent", "2"] in [row[:3] for row in grids["Figure 4"]]
    assert ["all (paper: 1,332)", "consistent", "0"] in [row[:3] for row in grids["Figure 4"]]
    assert [row[-1] for row in grids["Table 1"][:2]] == ["-", "303, 32, 285, -"]
    assert ["paper, all seven", "TensorFlow / CNTK", "726", "182", "35", "150", "359", "-"] in grids["Table 1"]
    assert [row[-1] for row in grids["Table 2"]] == ["-", "71, 2.18, 18, 22.98 %"]
    assert any("68 bugs and 83 implementation differences of 151, and 20" in line for line in shown.lines)


def test_who_hangs_on_invalid_values_is_in_the_table() -> None:
    shown = view(facts())
    assert shown is not None
    (grid,) = [grid for grid in shown.grids if "hung" in grid.columns]
    assert grid.rows == [["a", "1", "0", "0", "0", "3"]]


def test_where_no_weights_are_moved_is_said() -> None:
    shown = view(facts())
    assert shown is not None
    (line,) = [line for line in shown.lines if "move only the inputs" in line]
    assert "onnxruntime" in line


def test_searches_say_how_far_they_came() -> None:
    shown = view(facts())
    assert shown is not None
    (grid,) = [grid for grid in shown.grids if grid.title == "Searches"]
    assert grid.rows == [["inconsistency", "input", "a / b", "1", "10", "0.5", "1e+300", "2"]]


def test_guilty_parameters_are_pairs_of_their_own() -> None:
    said = observed("guilty-parameters", guilty=[{"parameter": "padding", "values": ["valid"]}], tried=3)
    diagnosis = Diagnosis(Class.DEFECT, ("a",), api="keras.layers.Conv2D", parameters={"filters": 3, "padding": "same"})
    one = Finding("6", "audee", Kind.INCONSISTENCY, Stage.FORWARD, ("a", "b"), diagnosis, "6")
    told = replace(one, diagnosis=replace(diagnosis, evidence=(said,)))
    assert root_causes((one, told), {})["pairs"]["defect"] == 2, "what reduction left is another pair"
    assert root_causes((told, FINDINGS[0]), {})["pairs"]["defect"] == 1


def test_a_function_counts_for_the_layer_whose_parameters_are_guilty() -> None:
    own = {"guilty": [{"parameter": "padding", "values": ["valid"]}], "tried": 3}
    layer = replace(FINDINGS[3], diagnosis=Diagnosis(Class.DEFECT, ("b",), api="keras.layers.Conv2D"))
    told = (observed("guilty-parameters", **own), observed("guilty-parameters", **own, layer="keras.layers.Conv2D"))
    function = Diagnosis(Class.DEFECT, ("b",), api="keras.ops.conv", evidence=(told[1],))
    both = (replace(layer, diagnosis=replace(layer.diagnosis, evidence=(told[0],))), replace(layer, diagnosis=function))
    assert root_causes(both, {})["pairs"]["defect"] == 1


def test_the_page_has_the_tables_and_the_curves() -> None:
    page = render_html(facts())
    assert "Table 1: inconsistencies by strategy" in page
    assert "<polyline" in page
    assert "small-v1, input, a / b, first failure after 9" in page


def test_another_command_has_none_of_it() -> None:
    assert view(replace(facts(), stats={"cases": 1})) is None
