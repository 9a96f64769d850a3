"""A defect that a library has with one thread alone is said to need one, on real workers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tensorparity.campaign import settings_trial
from tensorparity.campaign.budget import StopReason
from tensorparity.campaign.filing import make_finding
from tensorparity.campaign.settings_trial import by_onednn, run_and_try_settings, seen_on, try_settings, without_trial
from tensorparity.cli.options import settings_seconds
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.machine_settings import Setting, Tried
from tensorparity.core.oracle import Judged, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.reporting.words import sentence, sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import parse_faults
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.examine import Examined, Examiner
from tensorparity.triage.reduction.preparation import Prepared, ReducingSettings

TARGETS = ("torch:eager", "onnxruntime")
FAULT = """
import os
import torch

_tanh = torch.tanh
if os.environ.get("OMP_NUM_THREADS") == "1":
    torch.tanh = lambda x: _tanh(x) * 2
"""


TF, TORCH = "keras:tensorflow", "keras:torch"
TANH = OPERATORS.get("tanh").api_call({})


def suspicion(*suspects: str, kind: Kind = Kind.INCONSISTENCY) -> Suspicion:
    case = Case(TANH, Procedure(goal=Goal.CALL), inputs={"x": np.ones((1, 1), np.float32)})
    return Suspicion(kind, Diagnosis(Class.DEFECT, suspects, api=TANH.api), case, (TF, TORCH))


def examined(*suspicions: Suspicion, status: Status = Status.COMPLETED) -> Examined:
    outcomes = {TF: Outcome(TF, Status.COMPLETED), TORCH: Outcome(TORCH, status)}
    return Examined(Ask(suspicion().case), (outcomes,), Judged(suspicions=suspicions))


@pytest.mark.parametrize(
    ("now", "seen"),
    [
        (examined(suspicion(TF, TORCH)), {TF: True, TORCH: True}),
        (examined(suspicion(TORCH)), {TF: False, TORCH: True}),
        (examined(), {TF: False, TORCH: False}),
        (examined(suspicion(TORCH, kind=Kind.SHAPE)), {TF: False, TORCH: False}),
        (examined(suspicion(TF), status=Status.RAISED), {TF: True}),
        (examined(status=Status.RAISED), {}),
    ],
)
def test_each_target_is_looked_at_by_itself(now: Examined, seen: dict[str, bool]) -> None:
    """Both were wrong; each runs under a setting of its own now."""
    families = {TF: "keras", TORCH: "keras"}
    assert seen_on(now, suspicion(TF, TORCH), families, [TF, TORCH]) == seen


@pytest.mark.parametrize(
    ("asked", "budget", "seconds"),
    [
        (None, 60.0, 0.0),
        (None, 300.0, 60.0),
        (True, 60.0, 12.0),
        (False, 300.0, 0.0),
        (None, None, 0.0),
        (True, None, math.inf),
        (True, math.inf, math.inf),
    ],
)
def test_trying_is_part_of_the_budget(asked: bool | None, budget: float | None, seconds: float) -> None:
    assert settings_seconds(asked, budget) == seconds
    left = without_trial(budget, seconds)
    assert left == (None if budget is None else budget if math.isinf(seconds) else budget - seconds)


@dataclass
class Session:
    """As much of a campaign's session as trying settings needs."""

    examiner: Examiner
    found: list[tuple[Finding, Prepared]]
    changed: list[Finding] = field(default_factory=list)

    def filed(self) -> list[tuple[Finding, Prepared]]:
        return self.found

    def change(self, finding: Finding, *, script: str | None = None, remark: str = "") -> None:
        self.changed.append(finding)


@pytest.mark.torch
@pytest.mark.onnxruntime
def test_a_defect_of_one_thread(tmp_path: Path) -> None:
    fault = tmp_path / "one_thread.py"
    fault.write_text(FAULT)
    settings = RunnerSettings(faults=parse_faults([f"torch:eager={fault}"]))
    operator = OPERATORS.get("tanh")
    inputs = {"x": np.linspace(-1, 1, 17, dtype=np.float32).reshape(1, 17)}
    case = Case(operator.api_call({}), Procedure(goal=Goal.CALL), inputs=inputs)
    with open_runner(TARGETS, settings) as runner:
        examiner = Examiner(runner, Setup(0, TARGETS, traits_of(TARGETS)))
        (examined,) = examiner.examine([Ask(case)])
        (suspicion,) = examined.judged.suspicions
        finding = make_finding(suspicion, "test", examined.own, "tanh")
        assert finding.settings["threads"] == 1
        session = Session(examiner, [(finding, Prepared(suspicion, suspicion))])
        assert try_settings(session, runner, lambda event: None, math.inf)  # type: ignore[arg-type]
        assert runner.settings.time_limit.left is None
    (changed,) = session.changed
    assert changed.settings["shown"] == "only with some"
    assert changed.settings["needs"] == ["threads=1"]
    assert changed.settings["not_with"] == ["threads=2"]
    assert "seen only with threads=1" in sentences(changed.diagnosis)[-1]


OFF, ON = Setting("TF_ENABLE_ONEDNN_OPTS", "0"), Setting("TF_ENABLE_ONEDNN_OPTS", "1")
LIBRARY, FRONT_END = "tensorflow.nn.conv2d", "keras.ops.conv"


def below_a_layer(api: str, *codes: str) -> Finding:
    told = {"layer": "keras.layers.Conv2D", "api": api, "target": "keras:tensorflow", "package": "tensorflow"}
    evidence = tuple(observed(code, **told, right=[]) for code in codes)
    diagnosis = Diagnosis(Class.DEFECT, ("tensorflow:eager",), api=api, evidence=evidence)
    return Finding("x", "muffin", Kind.INCONSISTENCY, Stage.CALL, ("tensorflow:eager",), diagnosis, "signature")


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (
            {OFF: False, ON: True},
            ["off"],
        ),
        (
            {OFF: True, ON: False},
            ["on"],
        ),
        ({OFF: False}, ["off"]),
        ({OFF: True}, []),
        ({OFF: True, ON: True}, []),
        ({OFF: False, ON: False}, []),
        ({Setting("threads", "2"): False}, []),
    ],
)
def test_onednn_is_blamed_where_its_switch_changes_the_answer(shown: dict[Setting, bool], said: list[str]) -> None:
    found = [sentence(item) for item in by_onednn(below_a_layer(LIBRARY, "descended"), Tried(shown))]
    right = "gives the right answer"
    assert found == [
        f"the defect is in oneDNN: with oneDNN switched {gone}, tensorflow.nn.conv2d {right}" for gone in said
    ]


def test_onednn_is_not_blamed_for_what_keras_does_with_it() -> None:
    shown = Tried({OFF: False, ON: True})
    assert by_onednn(below_a_layer(FRONT_END, "descended"), shown) == []
    assert by_onednn(below_a_layer(LIBRARY), shown) == []


def test_trying_ends_with_the_budget_because_nothing_is_lost_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[float] = []
    searched: list[float | None] = []

    def ran(*given: object, seconds: float | None, **named: object) -> StopReason:
        searched.append(seconds)
        return StopReason.CASES

    def tried(session: object, local: object, tell: object, seconds: float, ends: float) -> bool:
        ended.append(ends)
        return True

    monkeypatch.setattr(settings_trial, "run_engines", ran)
    monkeypatch.setattr(settings_trial, "try_settings", tried)
    session = SimpleNamespace(local=object())
    for seconds in (360.0, None):
        reducing = ReducingSettings(settings_seconds=72.0)
        run_and_try_settings(session, [], print, reducing, seconds=seconds, cases=None, began=100.0)  # type: ignore[arg-type]
    assert ended == [460.0, math.inf]
    assert searched == [324.0, None], "a tenth is kept, as the help of --settings says"
