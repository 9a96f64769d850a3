"""Values that are ruled out, of layers, losses, optimizers and metrics: refusal is right, completing is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from tensorparity.core.case import ApiCall, Case
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.verdict import Kind, Stage
from tensorparity.generators.single_cases.invalid import invalid_cases
from tensorparity.operators.catalogue import layer, layer_names
from tensorparity.operators.metrics.catalogue import METRICS
from tensorparity.operators.ruled_out import ruled_out
from tensorparity.reporting.words import sentences

from ...judging import judge

EVERYTHING = list(invalid_cases(0))
#: Of layers a few: there are hundreds.
CASES = [case for case in EVERYTHING if case.procedure.loss] + [case for case in EVERYTHING if not case.procedure.loss][
    :20
]
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
    named = [_name(case) for case in EVERYTHING]
    assert len(set(named)) == len(named)
    declared = sum(len(parameter.invalid) for name in layer_names() for parameter in layer(name).parameters)
    together = sum(len(layer(name).conflicts) for name in layer_names())
    families = Counter(ruled_out(case)[0].op.rpartition(".")[0] for case in EVERYTHING)
    assert families[""] > 0.95 * (declared + together)
    assert families["keras.metrics"] == sum(len(item.invalid) for spec in METRICS.values() for item in spec.parameters)
    assert set(families) == {
        "",
        "keras.losses",
        "keras.optimizers",
        "keras.metrics",
        "keras.activations",
        "keras.layers",
    }
    assert [_name(case) for case in invalid_cases(0)] == named != [_name(case) for case in invalid_cases(1)]


def _name(case: Case) -> str:
    node, params = ruled_out(case)
    procedure = case.procedure
    return f"{node.op} {params} {procedure.loss} {procedure.optimizer}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: ruled_out(case)[0].op + str(ruled_out(case)[1]))
def test_who_accepts_is_wrong(case: Case):
    answers = Answers(case)
    suspicion, _ = judge(case, answers(tensorflow=Status.RAISED, torch=Status.COMPLETED))
    assert suspicion is not None
    assert suspicion.kind is Kind.ACCEPTS_INVALID
    assert suspicion.stage is _stage(case)
    assert suspicion.diagnosis.suspects == ("keras:torch",)
    assert suspicion.diagnosis.api.startswith("keras.")
    assert "keras:tensorflow refuses it" in sentences(suspicion.diagnosis)


def _stage(case: Case) -> Stage:
    if isinstance(case.subject, ApiCall):
        return Stage.CALL
    known = {"keras.losses": Stage.LOSS, "keras.optimizers": Stage.UPDATE}
    return known.get(ruled_out(case)[0].op.rpartition(".")[0], Stage.BUILD)


def test_who_refuses_is_right():
    answers = Answers(CASES[0])
    suspicion, reason = judge(CASES[0], answers(tensorflow=Status.RAISED, torch=Status.RAISED))
    assert suspicion is None
    assert reason
    everybody, _ = judge(CASES[0], answers(tensorflow=Status.COMPLETED, torch=Status.COMPLETED))
    assert everybody is not None
    assert everybody.diagnosis.suspects == ("keras",)
