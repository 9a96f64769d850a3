"""What native implementations say of a convicted layer: on handmade answers, and torch itself on the museum's fault."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.campaign.stages import StepExaminer
from tensorparity.campaign.witnesses import Witnesses, with_testimony, witnesses_for
from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Stage
from tensorparity.reporting.words import sentences
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.endings import EndingTrial
from tensorparity.triage.trials import Trial, forward_trial

ACCUSED = Diagnosis(Class.DEFECT, ("keras:jax",), evidence=("keras:jax is wrong",))


def network() -> Case:
    builder = GraphBuilder()
    y = builder.add("MaxPooling1D", builder.input("x", (4, 1)), pool_size=2, name="y")
    out = builder.add("Flatten", y, name="out")
    given = np.array([[[1.0], [1.0], [0.0], [2.0]]], np.float32)
    procedure = Procedure(Goal.GRADIENTS, trace=True, loss=Recipe("MeanSquaredError"))
    return Case(builder.build(out), procedure, {"x": given}, {"out": np.zeros((1, 2), np.float32)})


def relu(numbers: list[float]) -> tuple[Trial, dict[str, Outcome]]:
    builder = GraphBuilder()
    graph = builder.build(builder.add("ReLU", builder.input("x", (2,)), name="y"))
    given = np.array([[-1.0, 2.0]], np.float32)
    trial = forward_trial(graph.nodes[0], [given], {}, False, ("keras:jax",), 0)
    answer = np.array([numbers], np.float32)
    return trial, {"torch:eager": Outcome("torch:eager", Status.COMPLETED, {trial.node.name: answer})}


@pytest.mark.parametrize(("numbers", "said"), [([0.0, 2.0], "is right about"), ([-1.0, 2.0], "is wrong about")])
def test_a_witness_is_evidence_and_nothing_more(numbers: list[float], said: str) -> None:
    trial, heard = relu(numbers)
    found = with_testimony(ACCUSED, trial, {}, heard)
    assert f"torch:eager, without Keras, {said}" in sentences(found)[-1]
    assert replace(found, evidence=ACCUSED.evidence) == ACCUSED


def test_who_has_nothing_to_say_is_not_quoted() -> None:
    trial, _ = relu([0.0, 2.0])
    assert with_testimony(ACCUSED, trial, {}, {}) == ACCUSED


def test_nobody_is_witness_in_his_own_case() -> None:
    assert "torch:eager" not in witnesses_for(["keras:torch", "torch:eager"])


@pytest.mark.torch
@pytest.mark.tensorflow
@pytest.mark.jax
def test_torch_itself_is_right_where_keras_on_torch_is_not() -> None:
    targets = ["keras:tensorflow", "keras:jax", "keras:torch"]
    settings = RunnerSettings(faults={"keras:torch": load_fault("maxpool-gradient-to-all")})
    with open_runner([*targets, "torch:eager"], settings) as runner:
        examiner = StepExaminer(runner, targets, dict.fromkeys(targets, "keras"), witnesses=["torch:eager"])
        examiner.examine([network()])
        (found,) = examiner.confirm()
        assert Witnesses(runner, ["torch:eager"]).heard([network()])[0]["torch:eager"].completed
    assert found.diagnosis.suspects == ("keras:torch",)
    assert any(line.startswith("torch:eager, without Keras, is right about") for line in sentences(found.diagnosis))


@pytest.mark.parametrize(("goal", "quoted"), [(Goal.FORWARD, True), (Goal.UPDATE, False)])
def test_a_witness_of_an_ending_has_run_as_far(goal: Goal, quoted: bool) -> None:
    case = replace(network(), procedure=replace(network().procedure, goal=goal))
    trial = EndingTrial(case, Stage.FORWARD, "keras:jax", ("raised", "ValueError", "no"))
    heard = {"torch:eager": Outcome("torch:eager", Status.COMPLETED)}
    assert any("runs the same" in line for line in sentences(with_testimony(ACCUSED, trial, {}, heard))) == quoted
