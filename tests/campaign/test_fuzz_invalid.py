"""Losses and optimizers with values that are ruled out: refusal is right, and whoever completes the step is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tensorparity.campaign.fuzz_invalid import invalid_cases
from tensorparity.campaign.judging import judge
from tensorparity.campaign.refusals import ruled_out
from tensorparity.core.case import Case
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.verdict import Kind, Stage

CASES = list(invalid_cases(0))
REFUSED = Failure("ValueError", "must be something else")


@dataclass(frozen=True)
class Answers:
    case: Case

    def __call__(self, **statuses: Status) -> dict[str, Outcome]:
        return {
            f"keras:{name}": Outcome(f"keras:{name}", status, failure=None if status is Status.COMPLETED else REFUSED)
            for name, status in statuses.items()
        }


def test_every_value_that_is_ruled_out_is_tried_once():
    named = [tuple(str(part) for part in _recipes(case)) for case in CASES]
    assert len(set(named)) == len(named) > 15
    assert {"keras.losses", "keras.optimizers"} == {ruled_out(case)[0].op.rpartition(".")[0] for case in CASES}
    again = [tuple(str(part) for part in _recipes(case)) for case in invalid_cases(0)]
    assert again == named != [tuple(str(part) for part in _recipes(case)) for case in invalid_cases(1)]


def _recipes(case: Case):
    return case.procedure.loss.to_json(), case.procedure.optimizer.to_json()


@pytest.mark.parametrize("case", CASES, ids=lambda case: ruled_out(case)[0].op + str(ruled_out(case)[1]))
def test_who_accepts_is_wrong(case: Case):
    answers = Answers(case)
    suspicion, _ = judge(case, answers(tensorflow=Status.RAISED, torch=Status.COMPLETED))
    assert suspicion is not None
    assert suspicion.kind is Kind.ACCEPTS_INVALID
    assert suspicion.stage in (Stage.LOSS, Stage.UPDATE)
    assert suspicion.diagnosis.suspects == ("keras:torch",)
    assert suspicion.diagnosis.api.startswith("keras.")
    assert "keras:tensorflow refuses it" in suspicion.diagnosis.evidence


def test_who_refuses_is_right():
    answers = Answers(CASES[0])
    suspicion, reason = judge(CASES[0], answers(tensorflow=Status.RAISED, torch=Status.RAISED))
    assert suspicion is None
    assert reason
    everybody, _ = judge(CASES[0], answers(tensorflow=Status.COMPLETED, torch=Status.COMPLETED))
    assert everybody is not None
    assert everybody.diagnosis.suspects == ("keras",)
