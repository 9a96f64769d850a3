"""Who judges the candidates of a reduction, and what is kept of what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.oracles.kinds import make_oracle
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examined
from tensorparity.triage.reduction import preparation as reducing
from tensorparity.triage.reduction.reducer import Reduction

TARGETS = ("keras:tensorflow", "keras:torch")


def _case(layers: int = 1) -> Case:
    build = GraphBuilder()
    at = build.input("x", (2,))
    for _ in range(layers):
        at = build.add("ReLU", at)
    return Case(build.build(at), inputs={"x": np.array([[0.3, 0.7]], np.float32)})


def _suspicion(case: Case, oracle: str, kind: Kind = Kind.ERROR, **diagnosis: object) -> Suspicion:
    return Suspicion(kind, Diagnosis(Class.DEFECT, TARGETS[:1], **diagnosis), case, TARGETS, oracle=oracle)  # type: ignore[arg-type]


def test_a_candidate_of_one_layer_is_judged_as_one() -> None:
    found = _suspicion(_case(2), "layers", Kind.INCONSISTENCY)
    assert reducing._ask_for(found, _case(), TARGETS).oracles == ()


def test_who_convicted_otherwise_is_asked_again() -> None:
    assert reducing._ask_for(_suspicion(_case(2), "muffin"), _case(), TARGETS).oracles == ("muffin",)


def test_beside_a_failure_wrong_answers_are_looked_for() -> None:
    found = _suspicion(_case(), "failure")
    assert reducing._asked_widely(found, _case(), TARGETS).oracles == ("failure", "layer")
    assert reducing._asked_widely(found, _case(2), TARGETS).oracles == ("failure",)


def test_of_another_oracle_no_endings_are_kept() -> None:
    failing, wrong = _suspicion(_case(), "failure"), _suspicion(_case(), "layer", Kind.INCONSISTENCY)
    first, other = Judged(suspicions=(failing,)), Judged(suspicions=(_suspicion(_case(), "layer"), wrong))
    assert reducing._with_others(Examined(Ask(_case()), ({},), first, (other,))).suspicions == (failing, wrong)


def test_parameters_are_kept_where_the_reduced_case_does_not_name_the_layer() -> None:
    named = _suspicion(_case(2), "failure", api="keras.layers.ReLU", parameters={"max_value": 1.0})
    reduction = Reduction(_case(2), _case(2), _suspicion(_case(2), "failure"), 1, 0.0)
    assert reducing._as_filed(named, reduction).diagnosis.parameters == {"max_value": 1.0}
    known = replace(reduction, suspicion=_suspicion(_case(), "failure", api="keras.layers.ReLU"))
    assert reducing._as_filed(named, known).diagnosis.parameters == {}


def test_a_backward_pass_that_fails_in_a_layer_fails_backward() -> None:
    case = _case()
    pulled = replace(
        case,
        procedure=Procedure(goal=Goal.REPLAY, nodes=("relu_1#0",)),
        inputs={"relu_1#0/0": case.inputs["x"]},
        cotangents={"relu_1#0": np.ones((1, 2), np.float32)},
    )
    raised = Outcome(TARGETS[0], Status.RAISED, failure=Failure("ValueError", "no", node="relu_1#0"))
    outcomes = {TARGETS[0]: raised, TARGETS[1]: Outcome(TARGETS[1], Status.COMPLETED)}
    judged = make_oracle("failure", Setup()).judge(Seen(pulled, (outcomes,), traits=traits_of(TARGETS)))
    assert [suspicion.stage for suspicion in judged.suspicions] == [Stage.BACKWARD]


def test_another_dtype_than_the_default_policys_is_told_as_that() -> None:
    case, traits = _case(), traits_of(TARGETS)
    name = next(iter(case.subject.outputs)).node  # type: ignore[union-attr]
    given = case.inputs["x"]
    outcomes = {
        TARGETS[0]: Outcome(TARGETS[0], Status.COMPLETED, {name: given.astype(np.float64) + 1e-8}),
        TARGETS[1]: Outcome(TARGETS[1], Status.COMPLETED, {name: given}),
    }
    judged = make_oracle("layer", Setup()).judge(Seen(case, (outcomes,), traits=traits))
    assert [(s.kind, s.diagnosis.suspects) for s in judged.suspicions] == [(Kind.DTYPE, TARGETS[:1])]
