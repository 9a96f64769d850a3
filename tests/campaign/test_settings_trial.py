"""A defect that a library has with one thread alone is said to need one, on real workers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tensorparity.campaign.filing import make_finding
from tensorparity.campaign.settings_trial import try_settings
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Finding
from tensorparity.core.oracle import Setup
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import parse_faults
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner
from tensorparity.triage.reduction.preparation import Prepared

TARGETS = ("torch:eager", "onnxruntime")
FAULT = """
import os
import torch

_tanh = torch.tanh
if os.environ.get("OMP_NUM_THREADS") == "1":
    torch.tanh = lambda x: _tanh(x) * 2
"""


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
        try_settings(session, runner, lambda event: None, math.inf)  # type: ignore[arg-type]
    (changed,) = session.changed
    assert changed.settings["shown"] == "only with some"
    assert changed.settings["needs"] == ["threads=1"]
    assert changed.settings["not_with"] == ["threads=2"]
    assert "seen only with threads=1" in sentences(changed.diagnosis)[-1]
