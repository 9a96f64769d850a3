"""Who has a say: targets that run a part of a step, one implementation under two names, who refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.capabilities import within_reach
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Judgement, Stage
from tensorparity.oracles.kinds import make_oracle
from tensorparity.targets.selection import traits_of

from ..judging import judged

A, B, FORWARD, GRADIENTS = "keras:tensorflow", "keras:torch", "keras:openvino", "torch:eager"


@pytest.fixture
def step() -> Case:
    rng = np.random.default_rng(0)
    x, labels, kernel = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (3, 2), (4, 2)))
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (4,)), name="d", units=2, use_bias=False))
    optimizer = Recipe("SGD", {"learning_rate": 0.1})
    procedure = Procedure(goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=optimizer)
    return Case(graph, procedure, {"x": x}, {"d": labels}, {"d/kernel": kernel})


def ran(case: Case, target: str, whole: Case, rate: float = 0.1) -> Outcome:
    """What a right target gives of as much of the step as it was asked for."""
    x, kernel, goal = case.inputs["x"], case.weights["d/kernel"], case.procedure.goal
    y = x @ kernel
    if goal is Goal.FORWARD:
        return Outcome(target, Status.COMPLETED, {"d": y}, Trace({"d#0": y}))
    error = y - whole.labels["d"]
    back = np.float32(2.0 / error.size) * error
    gradients = {"node:d#0": back, "input:x": back @ kernel.T, "weight:d/kernel": x.T @ back}
    weights = {"d/kernel": kernel - np.float32(rate) * (x.T @ back)} if goal is Goal.UPDATE else {}
    trace = Trace({"d#0": y}, float(np.mean(error**2)), gradients=gradients, weights=weights)
    return Outcome(target, Status.COMPLETED, {"d": y}, trace)


def said(step: Case, rates: dict[str, float]) -> Judged:
    traits = traits_of(list(rates))
    given = {target: within_reach(step, traits[target]) for target in rates}
    outcomes = {target: ran(case, target, step, rates[target]) for target, case in given.items()}
    seen = Seen(step, (outcomes,), (given,), traits)
    return make_oracle("trained_layer", Setup(traits=traits)).judge(seen)


def test_a_part_of_a_step_is_not_missed_elsewhere(step: Case) -> None:
    found = said(step, {A: 0.1, B: 0.1, FORWARD: 0.1, GRADIENTS: 0.1})
    assert [verdict.judgement for verdict in found.verdicts] == [Judgement.PASS]


def test_and_excuses_nobody(step: Case) -> None:
    (suspicion,) = said(step, {A: 0.1, B: 0.2, FORWARD: 0.1, GRADIENTS: 0.1}).suspicions
    assert (suspicion.stage, suspicion.diagnosis.suspects) == (Stage.UPDATE, (B,))


X = np.linspace(-2.0, 2.0, 8, dtype=np.float32).reshape(2, 4)
TANH = Case(ApiCall("keras.ops.tanh", (ArrayArg("x"),)), Procedure(goal=Goal.CALL), inputs={"x": X})


@pytest.mark.parametrize(("other", "suspects"), [(A, ("keras",)), (f"{B}{{threads=1}}", (B, f"{B}{{threads=1}}"))])
def test_one_implementation_does_not_accuse_the_code_it_shares(other: str, suspects: tuple[str, ...]) -> None:
    outcomes = {target: Outcome(target, Status.COMPLETED, {"0": np.tanh(X) + 1}) for target in (B, other)}
    (suspicion,) = judged(TANH, outcomes).suspicions
    assert suspicion.diagnosis.suspects == suspects


def test_who_refuses_what_is_ruled_out_clears_the_code_that_all_share(step: Case) -> None:
    build = GraphBuilder()
    graph = build.build(build.add("LeakyReLU", build.input("x", (4,)), name="n", negative_slope=-0.5))
    case = replace(TANH, subject=graph, procedure=Procedure())
    refused = Outcome(A, Status.RAISED, failure=Failure("ValueError", "no"))
    outcomes = {target: Outcome(target, Status.COMPLETED, {"n": X}) for target in (B, "keras:jax")}
    found = judged(case, {A: refused, **outcomes})
    assert [suspicion.diagnosis.suspects for suspicion in found.suspicions] == [(B, "keras:jax")]
