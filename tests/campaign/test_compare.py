"""What compare does around the examination: the store, and targets that break."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.sections import Sections
from tensorparity.commands import compare as comparing
from tensorparity.commands.compare import Compared, CompareSettings, compare
from tensorparity.commands.sources.models import ModelSource
from tensorparity.commands.stress import Stressed
from tensorparity.commands.whole_models import ModelExaminer
from tensorparity.core.arrays import Array
from tensorparity.core.errors import DataError, RunError, StoreError, WorkerStartError
from tensorparity.core.graph import LayerGraph
from tensorparity.core.model import Model
from tensorparity.core.oracle import Oracle, Setup
from tensorparity.core.outcome import Status
from tensorparity.engines.audee.stress import StressSettings
from tensorparity.generators.inputs.models import Data
from tensorparity.generators.training import Schedule
from tensorparity.oracles.kinds import make_oracle
from tensorparity.targets.catalogue import KERAS_TORCH
from tensorparity.triage import examine

JAX, TORCH = TARGETS = ("keras:jax", "keras:torch")
BROKEN = {TORCH: WorkerStartError(TORCH, "past its deadline")}
Run = Callable[..., Compared]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, classifier: Model, images: dict[str, Array]) -> Run:
    assert isinstance(classifier.graph, LayerGraph)
    source = ModelSource(classifier, classifier.graph.inputs, Data(images, {}, "drawn"))
    monkeypatch.setattr(comparing, "open_source", lambda model, context: source)
    monkeypatch.setattr(comparing, "arbiters_for", lambda targets: [])

    def compared(runner: Any, **settings: Any) -> Compared:
        runner.targets = TARGETS
        runner.desk = lambda target: SimpleNamespace(spec=KERAS_TORCH)
        monkeypatch.setattr(comparing, "open_runner", lambda targets, settings: nullcontext(runner))
        return compare("classifier", CompareSettings(TARGETS, **settings))

    return compared


def test_a_store_that_cannot_be_opened_fails_before_anything_is_run(run: Run, fake_runner: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    runner = fake_runner()
    with pytest.raises(StoreError):
        run(runner, store=tmp_path / "file" / "store")
    assert runner.ran == []


@pytest.mark.parametrize(("ends", "failed"), [(TARGETS, True), ((TORCH,), False)])
def test_a_model_that_no_target_completes_is_a_failed_run(
    run: Run, fake_runner: Any, ends: tuple[str, ...], failed: bool
) -> None:
    assert run(fake_runner(ends=dict.fromkeys(ends, Status.RAISED))).broken is failed


def test_a_target_that_breaks_late_does_not_cost_the_results(run: Run, fake_runner: Any, tmp_path: Path) -> None:
    compared = run(fake_runner(broken=BROKEN), store=tmp_path)
    assert compared.broken
    assert compared.facts.comparisons
    assert (tmp_path / "store.sqlite").is_file()


def test_where_nothing_was_compared_the_reason_is_the_error(run: Run, fake_runner: Any) -> None:
    with pytest.raises(RunError, match="keras:torch: past its deadline"):
        run(fake_runner(broken=BROKEN, ends={TORCH: Status.UNSUPPORTED}))


def test_case_files_go_to_the_folder_where_the_store_is_a_url(run: Run, fake_runner: Any, tmp_path: Path) -> None:
    runner = fake_runner(planted={TORCH: {"conv1": lambda array: array + np.float32(0.1)}})
    url = f"sqlite:///{tmp_path / 'database' / 'findings.sqlite'}"
    compared = run(runner, store=url, folder=tmp_path / "out")
    assert compared.facts.findings
    for finding in compared.facts.findings:
        assert (tmp_path / "out" / str(finding.case)).is_file()
    assert (tmp_path / "database" / "findings.sqlite").is_file()


class TestHighPrecision:
    def test_every_target_is_measured_without_labels(self, run: Run, fake_runner: Any) -> None:
        facts = run(fake_runner()).facts
        assert facts.high_precision is not None
        assert [item.target for item in facts.high_precision.deviations] == list(TARGETS)
        assert "high precision" in facts.phases

    def test_not_where_the_layers_are_left_alone(self, run: Run, fake_runner: Any) -> None:
        assert run(fake_runner(), localize="never").facts.high_precision is None

    def test_not_where_nothing_was_compared(self, run: Run, fake_runner: Any) -> None:
        ends = dict.fromkeys(TARGETS, Status.CRASHED)
        assert run(fake_runner(ends=ends)).facts.high_precision is None


def test_training_without_labels_is_refused_before_anything_is_run(run: Run, fake_runner: Any) -> None:
    runner = fake_runner()
    with pytest.raises(DataError, match="training needs labels"):
        run(runner, schedule=Schedule(steps=2))
    assert runner.ran == []


def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Of every oracle that is made, its name and what it is told."""
    made: list[tuple[str, dict[str, Any]]] = []

    def making(name: str, setup: Setup) -> Oracle:
        made.append((name, dict(setup.settings)))
        return make_oracle(name, setup)

    monkeypatch.setattr(examine, "make_oracle", making)
    return made


def test_what_is_set_for_an_oracle_reaches_it_as_a_check_and_under_stress(
    run: Run, fake_runner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = told(monkeypatch)
    oracles = {"layer": {"mine": 1}, "parity": {"k": 3}, "high_precision": {"mine": 2}, "audee_measures": {"mine": 3}}
    wrong = fake_runner(planted={TORCH: {"conv1": lambda array: array + np.float32(0.1)}})
    run(wrong, sections=Sections(oracles=oracles), stress=StressSettings(generations=1))
    assert ("layer", {"mine": 1}) in made
    assert ("audee_measures", {"mine": 3}) in made
    first, under_stress = (settings for name, settings in made if name == "parity")
    assert (first["k"], first["localize"]) == (3, "auto"), "what the command says stands, where nobody says otherwise"
    assert under_stress == {"k": 3}
    assert next(settings["mine"] for name, settings in made if name == "high_precision") == 2


def test_nobody_sets_an_arbiter_that_is_not_here(run: Run, fake_runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = told(monkeypatch)
    run(fake_runner(), sections=Sections(oracles={"parity": {"arbiters": ["onnx:reference"]}}))
    assert next(settings["arbiters"] for name, settings in made if name == "parity") == ()


def test_what_was_asked_for_besides_and_gave_no_answer_is_kept(run: Run, fake_runner: Any) -> None:
    runner = fake_runner(ends={TORCH: Status.OUT_OF_MEMORY}, fails_on=lambda case: case.seed != 0)
    assert run(runner, repeat=2).facts.unanswered == ("keras:torch could not be compared with itself (run 2)",)
    assert run(fake_runner(), repeat=2).facts.unanswered == ()
    assert run(runner).facts.unanswered == (), "nobody asked"


def test_a_search_that_looked_at_nothing_is_kept(run: Run, fake_runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Stressed(({"a": JAX, "b": TORCH, "evaluations": 0},))
    monkeypatch.setattr(comparing.Stress, "run", lambda self, session, listener: told)
    compared = run(fake_runner(), stress=StressSettings())
    assert compared.facts.unanswered == ("the search of --stress never ran",)


def test_a_training_that_nobody_could_do_is_kept(run: Run, fake_runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing.ModelExaminer, "engine", _without_training)
    compared = run(fake_runner(), schedule=Schedule(steps=2))
    assert compared.broken
    assert compared.facts.unanswered == ("the training that was asked for never ran",)


def _without_training(self: ModelExaminer, inputs: Any, labels: Any) -> Any:
    return ENGINE(replace(self, schedule=None), inputs, labels)


ENGINE = ModelExaminer.engine
