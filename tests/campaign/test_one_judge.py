"""What a campaign convicts, replay and reduction convict again: there is one judge per stage of a training step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case, Counterpart, ModelFile
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.runner import run_case
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Stage
from tensorparity.oracles.isolated_checks import backward_check
from tensorparity.oracles.kinds import ORACLE_OF_KIND, oracle_of
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner
from tensorparity.triage.reduction.preparation import reduce_suspicion
from tensorparity.triage.reduction.reducer import ReductionBudget

from ..examining import examine_case
from ..judging import judge
from ..stepping import ExaminedSteps

A, B, C = "keras:tensorflow", "keras:torch", "keras:jax"
KERAS = dict.fromkeys((A, B, C), "keras")
FAULTS = {
    "forward": (Stage.FORWARD, "keras.layers.Dense"),
    "loss": (Stage.LOSS, "keras.losses.MeanSquaredError"),
    "loss gradient": (Stage.BACKWARD, "keras.losses.MeanSquaredError"),
    "backward": (Stage.BACKWARD, "keras.layers.Dense"),
    "update": (Stage.UPDATE, "keras.optimizers.SGD"),
}


@dataclass
class Steps:
    """A Runner whose targets do a training step of at most one dense layer, with a fault planted in some of them."""

    fault: str = ""
    faulty: Sequence[str] = (B,)
    targets: Sequence[str] = (A, B, C)

    def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _scale(self, target: str, stage: str) -> np.float32:
        return np.float32(2.0 if target in self.faulty and self.fault == stage else 1.0)

    def _run(self, case: Case, target: str) -> Outcome:
        (node,) = case.subject.nodes
        kernel = case.weights.get(f"{node.layer}/kernel")
        (x,) = case.inputs.values()
        if case.procedure.goal is Goal.REPLAY:
            pulled = self._pulled(target, x, kernel, case.cotangents[node.key])
            gradients = {f"input:{node.key}/0": pulled[0], f"weight:{node.layer}/kernel": pulled[1]}
            return Outcome(target, Status.COMPLETED, trace=Trace(gradients=gradients))
        y = x if kernel is None else (x @ kernel * self._scale(target, "forward"))
        if case.procedure.loss is None:
            return Outcome(target, Status.COMPLETED, {node.name: y}, Trace({node.key: y}))
        error = y - case.labels[node.name]
        loss = float(np.mean(error**2) * self._scale(target, "loss"))
        back = np.float32(2.0 / error.size) * error * self._scale(target, "loss gradient")
        gradients, weights = {f"node:{node.key}": back}, {}
        (name,) = case.inputs
        gradients[f"input:{name}"] = back
        if kernel is not None:
            gradients[f"input:{name}"], own = self._pulled(target, x, kernel, back)
            gradients[f"weight:{node.layer}/kernel"] = own
            weights[f"{node.layer}/kernel"] = kernel - np.float32(0.1) * own * self._scale(target, "update")
        trace = Trace({node.key: y}, loss, gradients=gradients, weights=weights)
        return Outcome(target, Status.COMPLETED, {node.name: y}, trace)

    def _pulled(self, target: str, x: Array, kernel: Array, back: Array) -> tuple[Array, Array]:
        return back @ kernel.T * self._scale(target, "backward"), x.T @ back


@pytest.fixture
def step() -> Case:
    rng = np.random.default_rng(0)
    x, labels, kernel = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (3, 2), (4, 2)))
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (4,)), name="d", units=2, use_bias=False))
    optimizer = Recipe("SGD", {"learning_rate": 0.1})
    procedure = Procedure(goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=optimizer)
    return Case(graph, procedure, {"x": x}, {"d": labels}, {"d/kernel": kernel})


def found(runner: Steps, step: Case) -> list[Suspicion]:
    examiner = ExaminedSteps(runner, runner.targets, KERAS)
    examiner.examine([step])
    return examiner.confirm()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_finding_is_judged_again_as_it_was_found(fault: str, step: Case) -> None:
    runner = Steps(fault)
    (finding,) = found(runner, step)
    assert (finding.stage, finding.diagnosis.api) == FAULTS[fault]
    assert (finding.diagnosis.klass, finding.diagnosis.suspects) == (Class.DEFECT, (B,))
    again, _ = judge(finding.case, run_case(runner, finding.case))
    assert again is not None
    assert again.key == finding.key
    assert judge(finding.case, run_case(Steps(), finding.case)) == (None, "")


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_reported_as_fixed_by_two_targets_too(fault: str, step: Case) -> None:
    (finding,) = found(Steps(fault), step)
    assert judge(finding.case, run_case(Steps(fault), finding.case, (A, B)))[0] is not None
    assert judge(finding.case, run_case(Steps(), finding.case, (A, B))) == (None, "")


@pytest.mark.parametrize("fault", ["loss", "update"])
def test_what_all_do_wrong_alike_is_judged_again(fault: str, step: Case) -> None:
    runner = Steps(fault, faulty=(A, B, C))
    (finding,) = found(runner, step)
    assert finding.diagnosis.suspects == ("keras",)
    again, _ = judge(finding.case, run_case(runner, finding.case))
    assert again is not None
    assert again.key == finding.key


def test_a_gradient_that_all_double_is_convicted_and_reduced(step: Case) -> None:
    node, (x,), y = step.subject.nodes[0], step.inputs.values(), np.zeros((3, 2), np.float32)
    trial = backward_check(node, [x], y, step.weights, False, [A, B, C], 0)
    runner = Steps("backward", faulty=(A, B, C))
    checked, _ = examine_case(runner, trial.case, runner.targets)
    (suspicion,) = checked.suspicions
    assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.DEFECT, ("keras",))
    reduction = reduce_suspicion(
        ExaminedSteps(runner, runner.targets, KERAS).examiner, suspicion, ReductionBudget(checks=4)
    )
    assert reduction.suspicion is not None


def test_two_stages_of_one_step_are_both_told(step: Case) -> None:
    class Twice(Steps):
        def _scale(self, target: str, stage: str) -> np.float32:
            return np.float32(2.0 if target in self.faulty and stage in ("loss", "update") else 1.0)

    checked, _ = examine_case(Twice(), step, (A, B, C))
    assert [suspicion.stage for suspicion in checked.suspicions] == [Stage.LOSS, Stage.UPDATE]


def test_a_layer_in_training_is_judged_again(step: Case) -> None:
    training = Case(
        step.subject,
        Procedure(goal=Goal.UPDATE, training=True, loss=step.procedure.loss, optimizer=step.procedure.optimizer),
        step.inputs,
        step.labels,
        step.weights,
    )
    runner = Steps("forward")
    (finding,) = found(runner, training)
    assert finding.case.procedure.training
    again, _ = judge(finding.case, run_case(runner, finding.case))
    assert again is not None
    assert again.key == finding.key


# Every oracle of single cases


def gave(target: str, array: Array, name: str = "0", **trace: Any) -> Outcome:
    return Outcome(target, Status.COMPLETED, {name: array}, Trace(**trace))


X = np.linspace(-2.0, 2.0, 8, dtype=np.float32).reshape(2, 4)


@dataclass
class Answers:
    """A Runner whose second target is wrong: it says what a function says of a case, and adds something."""

    answer: Callable[[Case, str, np.float32], Outcome]
    targets: Sequence[str] = (A, B, C)

    def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None) -> list[Outcome]:
        return [self.answer(case, target, np.float32(0.5 if target == B else 0.0)) for case, target in pairs]


def _call(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, np.tanh(case.inputs["x"]) + off)


def _accept(case: Case, target: str, off: np.float32) -> Outcome:
    refused = Outcome(target, Status.RAISED, failure=Failure("ValueError", "no"))
    return gave(target, X) if off else refused


def _fit(case: Case, target: str, off: np.float32) -> Outcome:
    trace = Trace(losses=(1.0 + float(off),), weights={"0:d/kernel": X})
    return Outcome(target, Status.COMPLETED, trace=trace)


def _in_file(case: Case, target: str, off: np.float32) -> Outcome:
    return Outcome(target, Status.COMPLETED, trace=Trace(nodes={"odd#0": X + off}))


def _file(case: Case, target: str, off: np.float32) -> Outcome:
    if target == B:
        return Outcome(target, Status.RAISED, failure=Failure("ValueError", "no"))
    return gave(target, X, "out")


def _twice(case: Case, target: str, off: np.float32) -> Outcome:
    return gave(target, X + (off if case.subject.api == "keras.ops.other" else 0))  # type: ignore[union-attr]


def _graph(*ops: str, **params: Any) -> LayerGraph:
    build = GraphBuilder()
    x = build.input("x", (4,))
    for index, op in enumerate(ops):
        x = build.add(op, x, name=f"n{index}", **params)
    return build.build(x)


FILE = ModelFile("m.keras", "0" * 64)
CALL = Procedure(goal=Goal.CALL)
OTHER = Counterpart(ApiCall("keras.ops.other", (ArrayArg("x"),)), rule="other")
CASES: dict[str, tuple[Case, Callable[[Case, str, np.float32], Outcome] | None]] = {
    "call": (Case(ApiCall("keras.ops.tanh", (ArrayArg("x"),)), CALL, {"x": X}), _call),
    "layer": (Case(_graph("ReLU"), inputs={"x": X}), None),
    "layers": (Case(_graph("ReLU", "ELU", "Softmax"), inputs={"x": X}), None),
    "refusal": (Case(_graph("LeakyReLU", negative_slope=-0.5), inputs={"x": X}), _accept),
    "training": (Case(_graph("ReLU"), Procedure(goal=Goal.FIT, loss=Recipe("MeanSquaredError"), steps=1)), _fit),
    "replayed": (Case(FILE, Procedure(goal=Goal.REPLAY, nodes=("odd#0",)), {"odd#0/0": X}), _in_file),
    "file": (Case(FILE, inputs={"x": X}), _file),
    "equivalence": (Case(ApiCall("keras.ops.one", (ArrayArg("x"),)), CALL, {"x": X}, counterpart=OTHER), _twice),
}
#: ``trained_layer`` has tests of its own above; the others judge networks, pairs or nothing.
ELSEWHERE = {"outcomes", "trained_layer", "training_step"}


def test_every_oracle_of_a_kind_of_case_is_here() -> None:
    assert set(CASES) == set(ORACLE_OF_KIND.values()) - ELSEWHERE
    assert {name: oracle_of(case) for name, (case, _) in CASES.items()} == {name: name for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_what_an_oracle_convicts_is_confirmed_and_examined_again_by_it(name: str, fake_runner: Any) -> None:
    case, answer = CASES[name]
    layer = case.subject.nodes[-1].layer if isinstance(case.subject, LayerGraph) else ""
    planted = {B: {layer: lambda array: array + np.float32(0.5)}}
    runner = Answers(answer) if answer else fake_runner(targets=(A, B, C), planted=planted)
    examiner = Examiner(runner, Setup(targets=(A, B, C), traits=traits_of((A, B, C))))
    found = examiner.examine([Ask(case)])
    (suspicion,) = found[0].judged.suspicions
    assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects, suspicion.oracle) == (Class.DEFECT, (B,), name)
    ((again, _),) = examiner.confirm(found)
    assert (again.key, again.diagnosis.klass) == (suspicion.key, Class.DEFECT)
    replayed, _ = examine_case(runner, suspicion.case, suspicion.targets, convicted=(B,))
    assert replayed.of_key(suspicion.key) is not None
