"""What must be refused: only who is given it can accept it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Recipe
from tensorparity.core.verdict import Kind
from tensorparity.generators.single_cases.invalid import step_case
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examined, Examiner

TRAINS, ALSO, RUNS_FORWARD = "keras:jax", "keras:torch", "keras:numpy"
TARGETS = (TRAINS, ALSO, RUNS_FORWARD)


class Refusing:
    """Some refuse a training step; who is run forward only completes that."""

    targets = TARGETS

    def __init__(self, refuse: Sequence[str]) -> None:
        self._refuse = refuse

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        return [self._one(case, target) for case, target in pairs]

    def _one(self, case: Case, target: str) -> Outcome:
        if target in self._refuse and case.procedure.goal is not Goal.FORWARD:
            return Outcome(target, Status.RAISED, failure=Failure("ValueError", "no"))
        return Outcome(target, Status.COMPLETED, {"out": np.ones((1, 1), np.float32)})


def examined(refuse: Sequence[str]) -> Examined:
    case = step_case(Recipe("MeanSquaredError"), Recipe("SGD", {"momentum": -0.1}))
    examiner = Examiner(Refusing(refuse), Setup(targets=TARGETS, traits=traits_of(TARGETS)))
    (found,) = examiner.examine([Ask(case)])
    return found


@pytest.mark.parametrize(("refuse", "accused"), [((TRAINS, ALSO), []), ((TRAINS,), [(ALSO,)])])
def test_who_is_run_forward_alone_accepts_no_optimizer(refuse: Sequence[str], accused: list[tuple[str, ...]]) -> None:
    suspicions = examined(refuse).judged.suspicions
    assert [s.diagnosis.suspects for s in suspicions] == accused
    assert all(s.kind is Kind.ACCEPTS_INVALID for s in suspicions)
