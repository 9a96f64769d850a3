"""Findings are filed in pieces: neither Ctrl-C, a budget nor something unexpected loses what was confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign import budget, phases
from tensorparity.campaign.events import CaseDone
from tensorparity.campaign.session import CampaignSession
from tensorparity.commands import operator_findings, operator_models
from tensorparity.commands import precision as campaign
from tensorparity.commands.operator_findings import REDUCING
from tensorparity.commands.operator_models import TABLE_3
from tensorparity.commands.precision import PrecisionSettings, precision
from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.errors import UsageError
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.predoo import engine
from tensorparity.engines.predoo.notebook import Notebook
from tensorparity.engines.predoo.searches import OperatorSearch
from tensorparity.oracles.kinds import ORACLES
from tensorparity.targets.runner import RunnerSettings
from tensorparity.triage.operator_suspicions import distinct

from .operator_runs import Exact, absolute_sigmoid, exact, run, searched, setup_of, skipping_nan


def odd(case: Any) -> Any:
    return absolute_sigmoid(case) if "sigmoid" in case.subject.api else skipping_nan(case)


@pytest.fixture
def runner() -> Exact:
    return Exact(["torch:eager", "onnxruntime"], {"onnxruntime": odd})


#: Scripts need a real library.
WITHOUT_SCRIPTS = replace(REDUCING, scripts=False)


@dataclass
class Clock:
    """A listener: a second passes with every case that is done, and, however long the machine takes, no more."""

    now: float = 0.0

    def __call__(self, event: Any) -> None:
        self.now += isinstance(event, CaseDone)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (campaign, phases, budget):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


class TestRun:
    @pytest.fixture
    def compared(self, runner: Exact, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """The campaign on our own runner; what ``compare`` was told."""
        asked: list[Any] = []

        @contextmanager
        def opened(*_: Any) -> Iterator[Exact]:
            yield runner

        def compare(model: str, settings: Any) -> Any:
            asked.append(settings)
            return SimpleNamespace(facts=SimpleNamespace(comparisons=()))

        monkeypatch.setattr(campaign, "open_runner", opened)
        monkeypatch.setattr(operator_models, "compare", compare)
        monkeypatch.setattr(campaign, "_is_installed", lambda name: True)
        monkeypatch.setattr(campaign, "REDUCING", WITHOUT_SCRIPTS)
        return asked

    def settings(self, store: Path, **changes: Any) -> PrecisionSettings:
        options = {"operators": ("sigmoid",), "dtypes": ("float32",), "inputs": 100, "models": TABLE_3, **changes}
        return PrecisionSettings(["torch:eager", "onnxruntime"], store=store, **options)

    def test_models_are_compared_with_the_same_store_and_runner(self, compared: list[Any], tmp_path: Path) -> None:
        settings = self.settings(tmp_path, folder=tmp_path / "files", runner=RunnerSettings())
        found = precision(settings)
        assert [(told.folder, told.runner is settings.runner) for told in compared] == [(tmp_path / "files", True)] * 2
        assert found.facts.precision is not None
        assert len(found.facts.precision.models) == 2
        assert all((found.store / run.case).is_file() for run in found.facts.precision.operators)

    @pytest.mark.parametrize(("oracle", "found"), [("", 1), ("precision", 1), ("muffin", 1)])
    def test_who_judges_no_operators_judges_none(
        self, compared: list[Any], tmp_path: Path, oracle: str, found: int
    ) -> None:
        facts = precision(self.settings(tmp_path, inputs=2000, models=(), oracle=oracle)).facts
        assert len(facts.findings) == found
        assert any("the oracle muffin judges training steps" in note for note in facts.notes) == (oracle == "muffin")

    def test_who_is_chosen_judges_the_worst_inputs(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judged: list[str] = []

        class Lenient:
            """Somebody else's oracle, which finds nothing wrong."""

            def __init__(self, setup: Setup) -> None:
                """It needs nothing of it."""

            def judge(self, seen: Seen) -> Judged:
                judged.append(seen.case.subject.api)
                return Judged((Verdict(Judgement.PASS, seen.targets, "fine"),))

        monkeypatch.setitem(ORACLES._loaded, "lenient", Lenient)
        monkeypatch.setitem(ORACLES._paths, "lenient", "here:Lenient")
        facts = precision(self.settings(tmp_path, inputs=2000, models=(), oracle="lenient")).facts
        assert judged
        assert not facts.findings
        assert facts.precision is not None
        assert {run.status for run in facts.precision.operators} == {"measured"}, "the search is not blind"
        assert not any("the oracle lenient" in note for note in facts.notes)

    def test_an_unknown_oracle_is_refused(self, compared: list[Any], tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="unknown oracle 'mufin' .did you mean muffin"):
            precision(self.settings(tmp_path / "store", oracle="mufin"))
        assert not (tmp_path / "store").exists()

    def test_fewer_than_two_backends_leave_table_3_out(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(campaign, "_is_installed", lambda name: name == "keras:jax")
        found = precision(self.settings(tmp_path))
        assert compared == []
        assert any("Table 3 is left out" in note for note in found.facts.notes)

    def test_a_used_up_budget_compares_no_models_and_still_files(
        self, compared: list[Any], clock: Clock, tmp_path: Path
    ) -> None:
        found = precision(self.settings(tmp_path, budget=4.0, inputs=2000), clock)
        assert len(found.facts.findings) == 1
        assert compared == []
        assert any("Table 3 is without zoo:lenet5, zoo:vgg16" in note for note in found.facts.notes)

    def test_the_budget_is_asked_between_pieces(
        self, compared: list[Any], clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "PIECE", 1)
        file = CampaignSession.file

        def slow(*given: Any) -> None:
            file(*given)
            clock.now += 10

        monkeypatch.setattr(CampaignSession, "file", slow)
        found = precision(
            self.settings(tmp_path, operators=("sigmoid", "exp"), budget=8.0, inputs=2000, models=()), clock
        )
        assert len(found.facts.findings) == 1
        assert any("was not blamed, reduced or confirmed of exp" in note for note in found.facts.notes)

    def test_an_interrupt_keeps_what_is_confirmed(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(given: Any, traits: Any) -> Any:
            if given[0].operator == "exp":
                raise KeyboardInterrupt
            return distinct(given, traits)

        monkeypatch.setattr(engine, "PIECE", 1)
        monkeypatch.setattr(operator_findings, "distinct", interrupted)
        found = precision(self.settings(tmp_path, operators=("sigmoid", "exp"), models=()))
        assert len(found.facts.findings) == 1
        assert any("was not blamed, reduced or confirmed of exp" in note for note in found.facts.notes)

    def test_an_interrupt_while_comparing_does_not_say_that_nothing_was_confirmed(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(model: str, settings: Any) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(operator_models, "compare", interrupted)
        found = precision(self.settings(tmp_path))
        assert len(found.facts.findings) == 1
        assert found.facts.notes == ("ended early: interrupted",)

    def test_a_model_or_search_that_breaks_is_undecided(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(model: str, settings: Any) -> Any:
            raise RuntimeError("no such luck")

        noted = Notebook.note

        def note(self: Notebook, case: Any, result: Any) -> Any:
            if self.task.operator.name == "exp":
                raise ZeroDivisionError("by zero")
            return noted(self, case, result)

        monkeypatch.setattr(operator_models, "compare", broken)
        monkeypatch.setattr(Notebook, "note", note)
        found = precision(self.settings(tmp_path, operators=("sigmoid", "exp")))
        assert found.facts.precision is not None
        statuses = {(run.operator, run.status) for run in found.facts.precision.operators}
        assert statuses == {("sigmoid", "measured"), ("exp", "undecided")}
        assert found.facts.stats["undecided"] == 3
        assert "undecided: zoo:lenet5: RuntimeError: no such luck" in found.facts.notes
        assert "undecided: exp in float32: ZeroDivisionError: by zero" in found.facts.notes


def test_the_budget_is_asked_between_batches() -> None:
    runner = Exact(["torch:eager"], {"torch:eager": exact})
    left = iter([True, True, True, True, *[False] * 99])
    (notebook,) = searched(runner, "tanh", inputs=2000, go_on=lambda: next(left))
    assert 0 < notebook.runs()[0].inputs < 2000


def test_a_search_that_breaks_at_once_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: OperatorSearch) -> Any:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(OperatorSearch, "ask", broken)
    found = searched(Exact(["torch:eager"]), ("tanh", "exp"), inputs=100)
    assert [notebook.task.operator.name for notebook in found] == ["tanh", "exp"]
    assert all("by zero" in notebook.undecided for notebook in found)


def test_an_interrupt_keeps_what_was_measured() -> None:
    calls = iter([*[True] * 9, False])

    def go_on() -> bool:
        if not next(calls):
            raise KeyboardInterrupt
        return True

    names, runner = ("tanh", "exp"), Exact(["torch:eager"])
    setup = setup_of(runner.targets, operators=names, dtypes=("float32",), inputs=100)
    under_way = engine.PredooEngine(setup)
    run(runner, under_way, go_on)  # the loop ends there, and goes on to what is to be filed
    assert next(calls, None) is None, "nobody was interrupted"
    assert under_way.searching is not None
    found = under_way.searching.notebooks
    assert [notebook.task.operator.name for notebook in found] == ["tanh", "exp"]
    assert all(notebook.runs()[0].inputs for notebook in found)


def losing_nan_in_the_body(case: Case) -> Array:
    right = exact(case)
    flat = right.ravel().copy()
    body = flat.size // 16 * 16
    flat[:body] = np.where(np.isnan(flat[:body]), 0, flat[:body])
    return flat.reshape(right.shape)


@pytest.mark.parametrize("name", ["relu6", "bce_with_logits"])
def test_where_both_answers_are_right_nobody_gives_both(name: str) -> None:
    runner = Exact(["torch:eager", "jax:eager"], {"torch:eager": losing_nan_in_the_body})
    found = [s for item in searched(runner, name).examined for s in item.judged.suspicions]
    both = [s for s in found if getattr(s.diagnosis.evidence[0], "code", "") == "both-ways"]
    assert [s.diagnosis.suspects for s in both] == [("torch:eager",)] * len(both) != []
    assert {s.diagnosis.parameters["dtype"] for s in both} == {"float32"}
    honest = Exact(["torch:eager", "jax:eager"], {"torch:eager": skipping_nan})
    found = [s for item in searched(honest, "relu6").examined for s in item.judged.suspicions]
    assert not found, "always a number, which is as right as NaN"
