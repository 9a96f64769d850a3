"""``reduce`` and ``localize`` on one case: an exporter is shown as it is, and only what shows again is a defect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.events import silent
from tensorparity.commands import localize as localizing
from tensorparity.commands import reduce as reducing
from tensorparity.commands.opening import OpenCase
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.reporting.words import sentences
from tensorparity.store.casefile import CaseFile
from tensorparity.targets.exports import ExportedCases
from tensorparity.targets.runner import RunnerSettings
from tensorparity.triage.examine import Examined, Examiner
from tensorparity.triage.reduction.preparation import Prepared

TARGETS = ("keras:torch", "onnxruntime", "openvino")
REMARK = "not reduced, shown by the model file: some.exporter takes no layers of ours"


def test_an_exporter_is_shown_by_the_whole_file(
    fake_runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build = GraphBuilder()
    case = Case(build.build(build.add("ReLU", build.input("x", (2,)))), inputs={"x": np.ones((1, 2), np.float32)})
    runner = fake_runner(targets=TARGETS)
    runner.settings = RunnerSettings()
    suspicion = Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.DEFECT, ("exporter:some.exporter",)), case, TARGETS)

    @contextmanager
    def opened(path: Path, *_: Any) -> Iterator[OpenCase]:
        yield OpenCase(path, CaseFile(case, TARGETS), TARGETS, runner, ExportedCases({}))

    monkeypatch.setattr(reducing, "open_case", opened)
    look = Examined(Ask(case), ({},), Judged((), (suspicion,)))
    monkeypatch.setattr(OpenCase, "look", lambda *_, **__: look)
    monkeypatch.setattr(Examiner, "confirm", lambda *_: [(suspicion, {})])  # seen again
    out = tmp_path / "out"
    reduced = reducing.reduce(tmp_path / "a.tpcase", None, RunnerSettings(), out)
    (finding,) = reduced.facts.findings
    missing = "reproducer missing: no script: there is none for the exporter some.exporter"
    assert sentences(finding.diagnosis) == (REMARK, missing)
    assert REMARK in reduced.facts.notes
    assert "checks" not in reduced.facts.stats
    assert not out.exists()


@pytest.mark.parametrize(("only_once", "klass"), [(True, Class.FLAKY), (False, Class.DEFECT)])
@pytest.mark.parametrize("command", ["reduce", "localize"])
def test_only_what_fails_again_in_fresh_workers_is_a_defect(
    command: str, only_once: bool, klass: Class, fake_runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build = GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (2,)), name="relu"))
    case = Case(graph, inputs={"x": np.ones((1, 2), np.float32)})
    targets = ("keras:tensorflow", "keras:torch", "keras:jax")
    planted = {"keras:torch": {"relu": lambda y: y + np.float32(1)}}
    runner = fake_runner(targets=targets, planted=planted, only_once=only_once)
    runner.settings = RunnerSettings()

    @contextmanager
    def opened(path: Path, *_: Any) -> Iterator[OpenCase]:
        yield OpenCase(path, CaseFile(case, targets), targets, runner, ExportedCases({}))

    for module in (reducing, localizing):
        monkeypatch.setattr(module, "open_case", opened)
    monkeypatch.setattr(reducing, "prepare_one", lambda *args, **_: Prepared(args[2], args[2]))
    if command == "reduce":
        facts = reducing.reduce(tmp_path / "a.tpcase", None, RunnerSettings(), tmp_path / "out").facts
    else:
        with opened(tmp_path / "a.tpcase") as case_file:
            facts = localizing._single(case_file)
    assert [finding.diagnosis.klass for finding in facts.findings] == [klass]


@pytest.mark.parametrize("oracle", ["", "parity"])
def test_localize_judges_as_replay_does(
    oracle: str, fake_runner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What documentation rules out is accepted by one: ``refusal`` accuses that one, ``parity`` those that refuse."""
    build = GraphBuilder()
    made = build.add("LeakyReLU", build.input("x", (2,)), name="leaky", negative_slope=-0.5)
    case = Case(build.build(made), inputs={"x": np.ones((1, 2), np.float32)})
    targets = ("keras:tensorflow", "keras:torch", "keras:jax")
    runner = fake_runner(targets=targets)

    def run(case: Case, target: str, fresh: bool) -> Outcome:
        if target == "keras:torch":
            return Outcome(target, Status.COMPLETED, dict.fromkeys(["leaky"], next(iter(case.inputs.values()))))
        return Outcome(target, Status.RAISED, failure=Failure("ValueError", "negative_slope must not be negative"))

    monkeypatch.setattr(runner, "_run", run)
    opened = OpenCase(tmp_path / "a.tpcase", CaseFile(case, targets), targets, runner, ExportedCases({}), oracle)
    facts = localizing._model(opened, silent)
    replayed = opened.examiner().confirm([opened.look(fresh=True)])
    assert facts.comparisons is not None
    assert replayed
    assert [(f.kind, f.diagnosis.suspects) for f in facts.findings] == [
        (s.kind, s.diagnosis.suspects) for s, _ in replayed
    ]
    assert {f.kind for f in facts.findings} == ({Kind.ERROR} if oracle else {Kind.ACCEPTS_INVALID})
