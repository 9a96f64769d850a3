"""Nothing stalls a campaign: with real workers, of which one sleeps for ever in one call on one target."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.budget import StopReason
from tensorparity.campaign.events import CaseDone, Event
from tensorparity.campaign.loop import run_engines
from tensorparity.campaign.session import CampaignSession
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.engine import Ask, Result
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.traits import TargetTraits
from tensorparity.core.verdict import Kind
from tensorparity.targets.catalogue import TargetSpec
from tensorparity.targets.limits import WorkerLimits
from tensorparity.targets.runner import LocalRunner, RunnerSettings
from tensorparity.testing.external import external_runner
from tensorparity.triage.examine import Examiner

TARGETS = ("sleepy:awake", "sleepy:asleep")
ADAPTER = """
import threading
from tensorparity_worker.contract import Adapter, Result


def make_adapter(flavour, options):
    return Sleepy(flavour, options)


class Sleepy(Adapter):
    ABILITIES = frozenset(["call", "api-call"])

    def start(self):
        pass

    def run(self, job):
        if self.flavour == "asleep" and job.subject["api"] == "sleepy.locked":
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()
        result = Result()
        result.outputs = {"0": job.inputs["x"] * 2}
        return result
"""


class Calls:
    """A round of calls, of which one hangs on one target."""

    name, ahead = "calls", 1

    def __init__(self) -> None:
        self._round = 0
        self.told: list[Result] = []

    def ask(self) -> Sequence[Ask]:
        self._round += 1
        return [Ask(self._case(api, place)) for place, api in enumerate(("open", "locked", "free"))]

    def _case(self, api: str, place: int) -> Case:
        x = np.full((2, self._round), 1.0 + place, np.float32)
        return Case(ApiCall(f"sleepy.{api}", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), {"x": x})

    def tell(self, results: Sequence[Result]) -> None:
        self.told += results

    def tables(self) -> Mapping[str, Any]:
        return {}


@pytest.fixture
def runner(tmp_path: Path) -> LocalRunner:
    adapter = tmp_path / "sleepy_adapter.py"
    adapter.write_text(ADAPTER)
    spec = TargetSpec("sleepy", str(adapter), ("numpy",), "dev", "sleeps", traits=TargetTraits("sleepy", default=False))
    limits = WorkerLimits(idle_seconds=1.0)
    return external_runner(spec, TARGETS, RunnerSettings(limits=limits, workers=2))


def test_a_call_that_never_answers_is_found_in_time_and_the_others_go_on(runner: LocalRunner) -> None:
    events: list[Event] = []
    engine, budget = Calls(), 24.0
    with runner:
        examiner = Examiner(runner, Setup(0, TARGETS))
        session = CampaignSession(examiner, None, events.append, local=runner)
        began = time.monotonic()
        stop = run_engines(session, [engine], seconds=budget, began=began)
        took = time.monotonic() - began
        spared = runner.hanging.spared()
    assert stop is StopReason.BUDGET
    assert took < budget + 8.0
    (finding,) = session.findings.values()
    assert (finding.kind, finding.diagnosis.klass) == (Kind.HANG, Class.DEFECT)
    assert (finding.diagnosis.suspects, finding.diagnosis.api) == (("sleepy:asleep",), "sleepy.locked")
    assert spared["sleepy:asleep"]["sleepy.locked"] > 0
    assert sum(isinstance(event, CaseDone) for event in events) > 12, "one wait, not one per round"
    assert session.open_questions()[0].startswith("sleepy.locked hung on sleepy:asleep; ")
    hung = [result for result in engine.told if result.endings["sleepy:asleep"] is None]
    assert hung, "time-outs are blank in what engines are told"
    assert not any(verdict.kind is Kind.HANG for result in engine.told for verdict in result.verdicts)
