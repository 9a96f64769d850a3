"""Findings are filed in pieces: neither Ctrl-C, a budget nor something unexpected loses what was confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorparity.campaign.precision import TABLE_3, PrecisionSettings, precision
from tensorparity.campaign.precision_filing import Filing
from tensorparity.campaign.precision_findings import accuse
from tensorparity.campaign.precision_notebook import Notebook, SearchTask
from tensorparity.campaign.precision_operator import OperatorSearch, search_operators

from tensorparity.campaign import precision as campaign
from tensorparity.campaign import precision_filing
from tensorparity.campaign.reducing import Prepared
from tensorparity.operators.calls.catalogue import OPERATORS
from tensorparity.store.database import Store, open_store
from tensorparity.targets.runner import RunnerSettings

from .test_precision import Exact, absolute_sigmoid, exact, searched, skipping_nan


class Local(Exact):
    """As the campaign has it: nothing is broken."""

    broken: dict[str, Any] = {}  # noqa: RUF012


def odd(case: Any) -> Any:
    return absolute_sigmoid(case) if "sigmoid" in case.subject.api else skipping_nan(case)


@pytest.fixture
def runner() -> Local:
    return Local(["torch:eager", "onnxruntime"], {"onnxruntime": odd})


@pytest.fixture
def notebooks(runner: Local) -> list[Notebook]:
    return [notebook for name in ("sigmoid", "exp") for notebook in searched(runner, name)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def filing(runner: Local, store: Store, monkeypatch: pytest.MonkeyPatch) -> Filing:
    """One operator a piece, and no scripts, which need a real library."""
    monkeypatch.setattr(precision_filing, "PIECE", 1)
    monkeypatch.setattr(precision_filing, "prepared", without_scripts)
    return Filing(runner, store, store.begin_campaign("precision", 0, {}), {})  # type: ignore[arg-type]


def without_scripts(_: Any, filed: Any) -> Any:
    return [(item.finding, Prepared(item.suspicion, item.suspicion)) for item in filed]


def no_word(done: int, total: int, names: str) -> None:
    return


class TestFiling:
    def test_all_are_filed(self, filing: Filing, notebooks: list[Notebook], store: Store) -> None:
        filing.file(notebooks, [], no_word, lambda: True)
        assert len(filing.findings) == len(store.findings(filing.campaign)) == 2
        assert filing.left == filing.undecided == []

    def test_an_interrupt_keeps_what_is_confirmed(
        self, filing: Filing, notebooks: list[Notebook], store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(runner: Any, given: Any) -> Any:
            if given and given[0].task.operator.name == "exp":
                raise KeyboardInterrupt
            return accuse(runner, given)

        monkeypatch.setattr(precision_filing, "accuse", interrupted)
        with pytest.raises(KeyboardInterrupt):
            filing.file(notebooks, [], no_word, lambda: True)
        assert len(store.findings(filing.campaign)) == len(filing.findings) == 1
        assert filing.left == ["exp"]

    def test_an_interrupted_script_does_not_lose_its_finding(
        self, filing: Filing, notebooks: list[Notebook], store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(_: Any, filed: Any) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(precision_filing, "prepared", interrupted)
        with pytest.raises(KeyboardInterrupt):
            filing.file(notebooks, [], no_word, lambda: True)
        assert len(store.findings(filing.campaign)) == len(filing.findings) == 2
        assert filing.left == []

    @pytest.mark.parametrize("piece", [1, 4])
    def test_something_unexpected_is_undecided_and_the_others_are_filed(
        self, filing: Filing, notebooks: list[Notebook], monkeypatch: pytest.MonkeyPatch, piece: int
    ) -> None:
        def broken(runner: Any, given: Any) -> Any:
            if any(notebook.task.operator.name == "sigmoid" for notebook in given):
                raise ZeroDivisionError("by zero")
            return accuse(runner, given)

        monkeypatch.setattr(precision_filing, "PIECE", piece)
        monkeypatch.setattr(precision_filing, "accuse", broken)
        filing.file(notebooks, [], no_word, lambda: True)
        assert filing.undecided == ["sigmoid: ZeroDivisionError: by zero"]
        assert [finding.diagnosis.api for finding in filing.findings] == ["onnx.Exp"]

    def test_the_budget_is_asked_between_pieces(self, filing: Filing, notebooks: list[Notebook]) -> None:
        filing.file(notebooks, [], no_word, lambda: False)
        assert len(filing.findings) == 1
        assert filing.left == ["exp"]


class TestRun:
    @pytest.fixture
    def compared(self, runner: Local, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """The campaign on our own runner; what ``compare`` was told."""
        asked: list[Any] = []

        @contextmanager
        def opened(*_: Any) -> Iterator[Local]:
            yield runner

        def compare(model: str, settings: Any) -> Any:
            asked.append(settings)
            return SimpleNamespace(facts=SimpleNamespace(comparisons=()))

        monkeypatch.setattr(campaign, "open_runner", opened)
        monkeypatch.setattr(campaign, "compare", compare)
        monkeypatch.setattr(campaign, "_installed", lambda name: True)
        monkeypatch.setattr(precision_filing, "prepared", without_scripts)
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

    def test_fewer_than_two_backends_leave_table_3_out(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(campaign, "_installed", lambda name: name == "keras:jax")
        found = precision(self.settings(tmp_path))
        assert compared == []
        assert any("Table 3 is left out" in note for note in found.facts.notes)

    def test_a_used_up_budget_compares_no_models_and_still_files(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = count()  # a second passes whenever somebody looks
        monkeypatch.setattr(campaign, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        found = precision(self.settings(tmp_path, budget=8.0, inputs=2000))
        assert len(found.facts.findings) == 1
        assert compared == []
        assert any("Table 3 is without zoo:lenet5, zoo:vgg16" in note for note in found.facts.notes)

    def test_an_interrupt_while_comparing_does_not_say_that_nothing_was_confirmed(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(model: str, settings: Any) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(campaign, "compare", interrupted)
        found = precision(self.settings(tmp_path))
        assert len(found.facts.findings) == 1
        assert found.facts.notes == ("ended early: interrupted",)

    def test_a_model_or_search_that_breaks_is_undecided(
        self, compared: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(model: str, settings: Any) -> Any:
            raise RuntimeError("no such luck")

        noted = Notebook.note

        def note(self: Notebook, case: Any, outcomes: Any) -> Any:
            if self.task.operator.name == "exp":
                raise ZeroDivisionError("by zero")
            return noted(self, case, outcomes)

        monkeypatch.setattr(campaign, "compare", broken)
        monkeypatch.setattr(Notebook, "note", note)
        found = precision(self.settings(tmp_path, operators=("sigmoid", "exp")))
        assert found.facts.precision is not None
        statuses = {(run.operator, run.status) for run in found.facts.precision.operators}
        assert statuses == {("sigmoid", "measured"), ("exp", "undecided")}
        assert found.facts.stats["undecided"] == 3
        assert "undecided: zoo:lenet5: RuntimeError: no such luck" in found.facts.notes
        assert "undecided: exp in float32: ZeroDivisionError: by zero" in found.facts.notes


def test_the_budget_is_asked_between_batches() -> None:
    runner = Local(["torch:eager"], {"torch:eager": exact})
    left = iter([True, True, True, True, *[False] * 99])
    task = SearchTask(OPERATORS.get("tanh"), "float32", runner.targets, inputs=2000)
    (notebook,) = search_operators(runner, [task], lambda done, detail: None, lambda: next(left))
    assert 0 < notebook.runs()[0].inputs < 2000


class TestSearches:
    def tasks(self, runner: Local, *names: str) -> list[SearchTask]:
        return [SearchTask(OPERATORS.get(name), "float32", runner.targets, inputs=100) for name in names]

    def test_one_that_breaks_at_once_is_told_of(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(self: OperatorSearch) -> Any:
            raise ZeroDivisionError("by zero")

        monkeypatch.setattr(OperatorSearch, "ask", broken)
        runner = Local(["torch:eager"], {"torch:eager": exact})
        found = list(search_operators(runner, self.tasks(runner, "tanh", "exp"), lambda done, detail: None))
        assert [notebook.task.operator.name for notebook in found] == ["tanh", "exp"]
        assert all("by zero" in notebook.undecided for notebook in found)

    def test_an_interrupt_keeps_what_was_measured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = iter([*[True] * 6, False])

        def go_on() -> bool:
            if not next(calls):
                raise KeyboardInterrupt
            return True

        runner = Local(["torch:eager"], {"torch:eager": exact})
        found: list[Notebook] = []
        with pytest.raises(KeyboardInterrupt):
            found.extend(search_operators(runner, self.tasks(runner, "tanh", "exp"), lambda done, detail: None, go_on))
        assert [notebook.task.operator.name for notebook in found] == ["tanh", "exp"]
        assert all(notebook.runs()[0].inputs for notebook in found)
