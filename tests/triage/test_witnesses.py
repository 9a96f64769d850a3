"""What native implementations say of a convicted layer: on handmade answers, and torch itself on the museum's fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case, Counterpart
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.runner import run_case
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.traits import Traits
from tensorparity.core.verdict import Kind, Stage
from tensorparity.oracles.isolated_checks import forward_check
from tensorparity.oracles.kinds import ORACLES
from tensorparity.reporting.words import sentence
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import RunnerSettings, open_runner
from tensorparity.triage.examine import Examiner
from tensorparity.triage.witnesses import ERRORS, with_testimonies, witnesses_among

from ..stepping import ExaminedSteps

TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")
WITNESS = "torch:eager"


def network() -> Case:
    builder = GraphBuilder()
    y = builder.add("MaxPooling1D", builder.input("x", (4, 1)), pool_size=2, name="y")
    out = builder.add("Flatten", y, name="out")
    given = np.array([[[1.0], [1.0], [0.0], [2.0]]], np.float32)
    procedure = Procedure(Goal.GRADIENTS, trace=True, loss=Recipe("MeanSquaredError"))
    return Case(builder.build(out), procedure, {"x": given}, {"out": np.zeros((1, 2), np.float32)})


class Witness:
    """A runner of one witness with one answer; nobody else is asked."""

    targets = (*TARGETS, WITNESS)

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self.batches: list[int] = []

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: Any) -> list[Outcome]:
        assert {target for _, target in pairs} == {WITNESS}
        self.batches.append(len(pairs))
        return [self._outcome for _ in pairs]


def relu_case() -> Case:
    builder = GraphBuilder()
    graph = builder.build(builder.add("ReLU", builder.input("x", (2,)), name="y"))
    given = np.array([[-1.0, 2.0]], np.float32)
    return forward_check(graph.nodes[0], [given], {}, False, ("keras:jax",), 0).case


def suspicion(case: Case, kind: Kind = Kind.INCONSISTENCY, oracle: str = "layer") -> Suspicion:
    accused = Diagnosis(Class.DEFECT, ("keras:jax",), api="keras.layers.ReLU", evidence=("keras:jax is wrong",))
    return Suspicion(kind, accused, case, TARGETS, stage=Stage.FORWARD, oracle=oracle)


def answered(numbers: Mapping[str, list[float]]) -> dict[str, Outcome]:
    found = {target: np.array([own], np.float32) for target, own in numbers.items()}
    return {target: Outcome(target, Status.COMPLETED, {"y": array}) for target, array in found.items()}


RIGHT, WRONG = [0.0, 2.0], [-1.0, 2.0]
ACCUSED = answered({"keras:tensorflow": RIGHT, "keras:jax": WRONG, "keras:torch": RIGHT})


def after_hearing(found: Suspicion, witness: Outcome, outcomes: Mapping[str, Outcome] = ACCUSED) -> Suspicion:
    setup = Setup(targets=TARGETS, traits=traits_of([*TARGETS, WITNESS]))
    (said,) = with_testimonies(Examiner(Witness(witness), setup), [found], [outcomes])
    return said


def said_of(found: Suspicion) -> list[str]:
    return [sentence(item) for item in found.diagnosis.observations]


@pytest.mark.parametrize(("numbers", "said"), [(RIGHT, "is right about"), (WRONG, "is wrong about")])
def test_a_witness_is_evidence_and_nothing_more(numbers: list[float], said: str) -> None:
    before = suspicion(relu_case())
    found = after_hearing(before, answered({WITNESS: numbers})[WITNESS])
    assert f"torch:eager, which runs without Keras, {said}" in said_of(found)[-1]
    assert replace(found.diagnosis, evidence=before.diagnosis.evidence) == before.diagnosis


def test_of_two_sides_of_one_target_a_witness_knows_nothing() -> None:
    both = replace(relu_case(), counterpart=Counterpart(procedure=Procedure(reload=True), rule="save-keras"))
    before = suspicion(both, oracle="equivalence")
    assert after_hearing(before, answered({WITNESS: RIGHT})[WITNESS]) == before


class Strict:
    """An oracle whose settings say whom it accuses."""

    def __init__(self, setup: Setup) -> None:
        self._accused = tuple(setup.settings.get("accused", ()))

    def judge(self, seen: Seen) -> Judged:
        found = Diagnosis(Class.DEFECT, self._accused, api="keras.layers.ReLU")
        return Judged(suspicions=(Suspicion(Kind.INCONSISTENCY, found, seen.case, seen.targets),))


@pytest.mark.parametrize(("accused", "said"), [((), "is right about"), ((WITNESS,), "is wrong about")])
def test_a_witness_is_judged_with_the_settings_of_the_campaign(
    accused: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ORACLES._loaded, "strict", Strict)
    setup = Setup(targets=TARGETS, traits=traits_of([*TARGETS, WITNESS]))
    runner = Witness(answered({WITNESS: RIGHT})[WITNESS])
    examiner = Examiner(runner, setup, settings={"strict": {"accused": accused}})
    (found,) = with_testimonies(examiner, [suspicion(relu_case(), oracle="strict")], [ACCUSED])
    assert said in said_of(found)[-1]


class Excusing(Strict):
    """An oracle that accuses one target and excuses another, which is further off."""

    def judge(self, seen: Seen) -> Judged:
        found = super().judge(seen)
        accused = replace(found.suspicions[0], diagnosis=replace(found.suspicions[0].diagnosis, threshold=100.0))
        return replace(found, suspicions=(accused,), measures={ERRORS: {"keras:jax": [300.0], WITNESS: [self.off]}})

    off = 0.0


@pytest.mark.parametrize(("off", "lines"), [(99.0, 2), (101.0, 1), (1e6, 1)])
def test_a_witness_is_never_worse_than_the_accused(off: float, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORACLES._loaded, "strict", type("Excusing", (Excusing,), {"off": off}))
    setup = Setup(targets=TARGETS, traits=traits_of([*TARGETS, WITNESS]))
    examiner = Examiner(Witness(answered({WITNESS: WRONG})[WITNESS]), setup)
    (found,) = with_testimonies(examiner, [suspicion(relu_case(), oracle="strict")], [ACCUSED])
    assert len(said_of(found)) == lines


def test_who_has_nothing_to_say_is_not_quoted() -> None:
    before = suspicion(relu_case())
    assert after_hearing(before, Outcome(WITNESS, Status.UNSUPPORTED)).diagnosis == before.diagnosis


def test_nobody_is_witness_in_his_own_case() -> None:
    runner, traits = Witness(Outcome(WITNESS, Status.COMPLETED)), traits_of([*TARGETS, WITNESS])
    assert witnesses_among(runner, TARGETS, traits) == [WITNESS]
    assert witnesses_among(runner, ["keras:torch", WITNESS], traits) == []


def test_all_are_asked_at_once_and_of_defects_of_layers_alone() -> None:
    runner = Witness(answered({WITNESS: RIGHT})[WITNESS])
    setup = Setup(targets=TARGETS, traits=traits_of([*TARGETS, WITNESS]))
    of_layer, of_rule = suspicion(relu_case()), suspicion(relu_case(), oracle="muffin")
    flaky = replace(of_layer, diagnosis=replace(of_layer.diagnosis, klass=Class.FLAKY))
    found = with_testimonies(Examiner(runner, setup), [of_layer, flaky, of_rule, of_layer], [ACCUSED] * 4)
    assert runner.batches == [2]
    assert [len(s.diagnosis.evidence) for s in found] == [2, 1, 1, 2]


@pytest.mark.parametrize(("goal", "quoted"), [(Goal.FORWARD, True), (Goal.UPDATE, False)])
def test_a_witness_of_an_ending_has_run_as_far(goal: Goal, quoted: bool) -> None:
    case = replace(network(), procedure=replace(network().procedure, goal=goal))
    found = after_hearing(suspicion(case, Kind.ERROR, "failure"), Outcome(WITNESS, Status.COMPLETED), {})
    assert any("runs the same" in line for line in said_of(found)) == quoted


@pytest.mark.parametrize("goal", [Goal.FORWARD, Goal.GRADIENTS])
def test_who_ran_a_layer_forward_alone_knows_nothing_of_its_optimizer(goal: Goal) -> None:
    traits = traits_of([*TARGETS, WITNESS])
    able = replace(traits[WITNESS], max_goal=goal)
    setup = Setup(targets=TARGETS, traits=Traits({**{target: traits[target] for target in TARGETS}, WITNESS: able}))
    case = replace(relu_case(), procedure=Procedure(Goal.UPDATE, loss=Recipe("MeanSquaredError")))
    accused = replace(suspicion(case), stage=Stage.UPDATE)
    runner = Witness(answered({WITNESS: RIGHT})[WITNESS])
    (found,) = with_testimonies(Examiner(runner, setup), [accused], [ACCUSED])
    assert found.diagnosis == accused.diagnosis


@pytest.mark.torch
@pytest.mark.tensorflow
@pytest.mark.jax
def test_torch_itself_is_right_where_keras_on_torch_is_not() -> None:
    settings = RunnerSettings(faults={"keras:torch": load_fault("maxpool-gradient-to-all")})
    with open_runner([*TARGETS, WITNESS], settings) as runner:
        steps = ExaminedSteps(runner, TARGETS, dict.fromkeys(TARGETS, "keras"), others=[WITNESS])
        steps.examine([network()])
        (confirmed,) = steps.confirm()
        outcomes = run_case(runner, confirmed.case, TARGETS)
        (found,) = with_testimonies(steps.examiner, [confirmed], [outcomes])
    assert found.diagnosis.suspects == ("keras:torch",)
    assert any(line.startswith("torch:eager, which runs without Keras, is right about") for line in said_of(found))
