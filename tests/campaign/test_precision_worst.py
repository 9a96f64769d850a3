"""The whole input with the largest error is kept as a case, and the report says where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tensorparity.commands.worst_inputs import WorstInputs
from tensorparity.core.operator_errors import OperatorRun, PaperRun, Precision
from tensorparity.engines.predoo.notebook import Notebook
from tensorparity.engines.predoo.paper import PaperTask
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.reporting import html
from tensorparity.reporting.facts import Facts, TargetFacts
from tensorparity.store.casefile import read_case
from tensorparity.store.database import open_store

from .operator_runs import Exact, exact, search_paper, searched


def page_of(precision: Precision) -> str:
    stats = {"cases": 3, "seconds": 1.0, "undecided": 0, "per_engine": {}}
    return html.render(Facts("precision", 0, (TargetFacts("torch:eager"),), stats, precision=precision))


def rows_of(notebook: Notebook, worst: WorstInputs) -> list[OperatorRun]:
    """The rows of a search, as the command has them, with their worst inputs kept."""
    rows = list(enumerate(notebook.runs()))
    files = worst.keep([kept for row, run in rows if (kept := notebook.kept(row, run))])
    return [replace(OperatorRun.from_json(run.to_json()), case=files.get(("operators", row), "")) for row, run in rows]


def test_the_worst_input_of_every_target_is_a_case_that_is_as_bad_again(tmp_path: Path) -> None:
    targets = ["torch:eager", "torch:eager{onednn=0}"]
    (notebook,) = searched(Exact(targets), "matmul")
    with open_store(tmp_path) as store:
        runs = rows_of(notebook, WorstInputs(store, store.begin_campaign("precision", 0, {}), {}, {}))
    assert len({run.case for run in runs}) == 2
    for run in runs:
        assert run.to_json()["case"] == run.case  # type: ignore[index, call-overload]
        kept = read_case(tmp_path / run.case)
        assert kept.targets == (run.target,)
        known = notebook.records[run.target].worst
        assert len(kept.case.inputs) == 2
        for name, array in known.case.inputs.items():
            assert np.array_equal(kept.case.inputs[name], array)
        again = notebook.task.operator.evaluate({}, notebook.task.operator.operand_arrays(kept.case.inputs))
        assert np.abs(exact(kept.case).astype(np.float64) - again.value).max() > 0
    assert runs[0].case in page_of(Precision("operator", 16.0, operators=tuple(runs)))


def test_an_exact_operator_has_no_worst_input(tmp_path: Path) -> None:
    (notebook,) = searched(Exact(["torch:eager"]), "relu")
    with open_store(tmp_path) as store:
        (run,) = rows_of(notebook, WorstInputs(store, store.begin_campaign("precision", 0, {}), {}, {}))
    assert (run.units, run.case) == (0.0, "")


@pytest.mark.parametrize("mode", ["input_mode", "op_mode", "default"])
def test_the_papers_measure_keeps_the_input_as_it_was_drawn(tmp_path: Path, mode: str) -> None:
    runner = Exact(["tensorflow:eager"])
    task = PaperTask(OPERATORS.get("sigmoid"), "tensorflow:eager", "linf", mode, shape=(20,), inputs=300)
    with open_store(tmp_path) as store:
        worst = WorstInputs(store, store.begin_campaign("precision", 0, {}), {}, {})
        found = search_paper(runner, task).searched
        case = worst.keep([kept for kept in [found.kept(0)] if kept])["paper", 0]
        run = replace(PaperRun.from_json(found.run.to_json()), case=case)
        assert run == replace(found.run, case=case), "a row of the tables says all of it"
    x = read_case(tmp_path / run.case).case.inputs["x"]
    assert (x.shape, x.dtype) == ((1, 20), np.float64)
    assert run.worst == tuple(x.ravel()[:8].tolist())
    true = 1 / (1 + np.exp(-x))
    narrow = x.astype(np.float16).astype(np.float64)
    said = 1 / (1 + np.exp(-narrow))
    if mode != "input_mode":
        said = said.astype(np.float16).astype(np.float64)
    assert np.abs(said - true).max() == pytest.approx(run.largest, rel=1e-6)
    assert run.case in page_of(Precision("paper", 16.0, paper=(run,)))


def test_a_store_that_cannot_be_written_costs_the_inputs_and_not_the_report(tmp_path: Path) -> None:
    (notebook,) = searched(Exact(["torch:eager"]), "tanh")
    with open_store(tmp_path) as store:
        (tmp_path / "cases").write_text("a file where the folder should be")
        worst = WorstInputs(store, store.begin_campaign("precision", 0, {}), {}, {})
        (run,) = rows_of(notebook, worst)
    assert (run.status, run.case) == ("measured", "")
    assert "cannot write" in worst.problem
