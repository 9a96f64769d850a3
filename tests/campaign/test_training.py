"""Trainings side by side, on targets that compute their steps by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.whole_models import ExaminedModel, ModelExaminer
from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.comparison import Comparison
from tensorparity.core.errors import DataError
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal
from tensorparity.core.traits import TargetTraits, Traits
from tensorparity.core.verdict import Judgement, Kind, Stage
from tensorparity.generators.training import Schedule

A, B, C = "fake:a", "fake:b", "fake:c"
TRAITS = Traits({name: TargetTraits(name, family=name[-1]) for name in (A, B, C)})
Gradient = Callable[[Array], Array]


@dataclass
class Trainers:
    """A Runner whose targets train one dense layer; ``gradient`` says what each of them makes of the true one."""

    targets: Sequence[str] = (A, B, C)
    gradient: Mapping[str, Gradient] = field(default_factory=dict)
    alone: Mapping[str, Gradient] = field(default_factory=dict)
    ends: Mapping[str, Status] = field(default_factory=dict)
    replays: bool = True
    loss: Mapping[str, float] = field(default_factory=dict)
    step: Mapping[str, float] = field(default_factory=dict)

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        kernel = case.weights["dense/kernel"]
        if case.procedure.goal is Goal.FIT:
            return self._fit(case, target, kernel)
        if case.procedure.goal is Goal.REPLAY:
            if not self.replays:
                return Outcome(target, Status.UNSUPPORTED, failure=Failure("Unsupported", "no gradients"))
            x, cotangent = case.inputs["dense#0/0"], case.cotangents["dense#0"]
            change = self.alone.get(target, lambda g: g)
            gradients = {"weight:dense/kernel": change(x.T @ cotangent), "input:dense#0/0": cotangent @ kernel.T}
            return Outcome(target, Status.COMPLETED, trace=Trace(gradients=gradients))
        if case.procedure.goal is Goal.UPDATE:
            x, y = case.inputs["x"], case.labels["dense"]
            gradient = self.gradient.get(target, lambda g: g)(x.T @ (x @ kernel - y))
            after = kernel - np.float32(0.01 * self.step.get(target, 1.0)) * gradient
            trace = Trace(gradients={"weight:dense/kernel": gradient}, weights={"dense/kernel": after})
            return Outcome(target, Status.COMPLETED, trace=trace)
        output = case.inputs["x"] @ kernel
        return Outcome(target, Status.COMPLETED, {"dense": output}, Trace(nodes={"dense#0": output}))

    def _fit(self, case: Case, target: str, kernel: Array) -> Outcome:
        if target in self.ends:
            return Outcome(target, self.ends[target], failure=Failure("FakeError", "no training today"))
        steps, weights, losses = case.procedure.steps or 0, {}, []
        xs, ys = np.split(case.inputs["x"], steps), np.split(case.labels["dense"], steps)
        for step, (x, y) in enumerate(zip(xs, ys, strict=True)):
            error = x @ kernel - y
            losses.append(float((error**2).mean()) * self.loss.get(target, 1.0))
            kernel = kernel - 0.01 * self.step.get(target, 1.0) * self.gradient.get(target, lambda g: g)(x.T @ error)
            weights[f"{step}:dense/kernel"] = kernel
        return Outcome(target, Status.COMPLETED, trace=Trace(weights=weights, losses=tuple(losses)))


@pytest.fixture
def train() -> Callable[..., Any]:
    build = GraphBuilder("line")
    graph = build.build(build.add("Dense", build.input("x", (4,)), name="dense", units=3, use_bias=False))
    rng = np.random.default_rng(3)
    model = Model("line", graph, {"dense/kernel": rng.standard_normal((4, 3)).astype(np.float32)})
    x, y = (rng.standard_normal((16, size)).astype(np.float32) for size in (4, 3))

    def run(runner: Trainers, labels: Mapping[str, Array] | None = None, **known: Any) -> ExaminedModel:
        given = {"": y} if labels is None else labels
        schedule = Schedule(steps=4, batch_size=4)
        examiner = ModelExaminer(runner, model, runner.targets, TRAITS, schedule=schedule, **known)
        return examiner.examine({"x": x}, given)

    return run


def trainings(trained: Any) -> list[Comparison]:
    return [comparison for comparison in trained.comparisons if comparison.output == "training"]


def judgements(trained: Any) -> dict[tuple[str, str], Judgement]:
    return {(c.a, c.b): c.verdict.judgement for c in trainings(trained)}


def test_equal_trainings_stay_together(train: Callable[..., Any]) -> None:
    trained = train(Trainers())
    assert set(judgements(trained).values()) == {Judgement.PASS}
    assert len(trained.training.losses[A]) == 4
    assert trained.training.losses[A] == trained.training.losses[B]


def test_a_wrong_gradient_is_found_and_named(train: Callable[..., Any]) -> None:
    wrong = {B: lambda g: g * np.float32(1.1)}
    trained = train(Trainers(gradient=wrong, alone=wrong))
    assert judgements(trained) == {(A, B): Judgement.FAIL, (A, C): Judgement.PASS, (B, C): Judgement.FAIL}
    (suspicion,) = trained.suspicions
    assert (suspicion.stage, suspicion.diagnosis.klass) == (Stage.BACKWARD, Class.DEFECT)
    assert (suspicion.diagnosis.suspects, suspicion.diagnosis.node) == ((B,), "dense#0")
    assert suspicion.case.cotangents, "its case must show the backward pass"


def test_where_layers_agree_alone_a_parting_is_rounding(train: Callable[..., Any]) -> None:
    trained = train(Trainers(gradient={B: lambda g: g * np.float32(1.01)}))
    assert judgements(trained)[A, B] is Judgement.PASS
    assert "they diverge at step 1 in dense/kernel" in trainings(trained)[0].verdict.reason


def test_a_loss_that_differs_on_equal_weights_does_not_pass(train: Callable[..., Any]) -> None:
    """Whether the weights stay together or part later: rounding at kinks is no excuse for the loss itself."""
    for gradient in ({}, {B: lambda g: g * np.float32(1.01)}):
        trained = train(Trainers(loss={B: 0.5}, gradient=gradient))
        assert judgements(trained) == {
            (A, B): Judgement.UNDECIDED,
            (A, C): Judgement.PASS,
            (B, C): Judgement.UNDECIDED,
        }
        reason = trainings(trained)[0].verdict.reason
        assert "their losses differ at step 1" in reason
        assert "the loss itself" in reason


def test_losses_that_differ_because_the_weights_do_are_no_fault_of_the_loss(train: Callable[..., Any]) -> None:
    trained = train(Trainers(gradient={B: lambda g: g * np.float32(1.5)}))
    assert "they diverge at step 1 in dense/kernel" in trainings(trained)[0].verdict.reason


def test_the_trainings_side_by_side(train: Callable[..., Any]) -> None:
    training = train(Trainers(gradient={B: lambda g: g * np.float32(1.1)})).training
    assert (training.first.step, training.first.layer) == (1, "dense")
    assert {(parting.a, parting.b) for parting in training.partings} == {(A, B), (B, C)}
    assert [(layer.layer, layer.parted) for layer in training.layers] == [("dense", 1)]


def test_a_training_that_died_is_a_comparison_of_trainings(train: Callable[..., Any]) -> None:
    trained = train(Trainers(ends={B: Status.CRASHED}))
    assert {(c.output, c.verdict.stage) for c in trainings(trained)} == {("training", Stage.UPDATE)}
    assert set(trained.training.losses) == {A, C}


def test_two_targets_and_the_reference_settle_a_gradient(train: Callable[..., Any]) -> None:
    wrong = {B: lambda g: g * np.float32(1.1)}
    trained = train(Trainers(targets=(A, B), gradient=wrong, alone=wrong))
    assert judgements(trained) == {(A, B): Judgement.FAIL}
    (suspicion,) = trained.suspicions
    assert (suspicion.stage, suspicion.diagnosis.suspects) == (Stage.BACKWARD, (B,))


def test_two_targets_that_agree_alone_are_judged(train: Callable[..., Any]) -> None:
    trained = train(Trainers(targets=(A, B), gradient={B: lambda g: g * np.float32(1.01)}))
    assert judgements(trained) == {(A, B): Judgement.PASS}


def test_an_optimizer_that_steps_too_far_is_named(train: Callable[..., Any]) -> None:
    trained = train(Trainers(targets=(A, B), step={B: 1.5}))
    assert judgements(trained) == {(A, B): Judgement.FAIL}
    (suspicion,) = trained.suspicions
    assert (suspicion.stage, suspicion.diagnosis.suspects) == (Stage.UPDATE, (B,))
    assert suspicion.diagnosis.api == "keras.optimizers.SGD"
    assert "the step of keras.optimizers.SGD is wrong on fake:b" in trainings(trained)[0].verdict.reason


def test_weights_that_are_not_finite_never_pass(train: Callable[..., Any]) -> None:
    trained = train(Trainers(gradient={B: lambda g: g * np.float32("nan")}))
    assert judgements(trained)[A, B] is Judgement.UNDECIDED


def test_gradients_that_cannot_be_replayed_decide_nothing(train: Callable[..., Any]) -> None:
    trained = train(Trainers(gradient={B: lambda g: g * np.float32(2)}, replays=False))
    assert judgements(trained)[A, B] is Judgement.UNDECIDED


def test_a_target_that_dies_in_training_is_a_finding(train: Callable[..., Any]) -> None:
    trained = train(Trainers(ends={B: Status.CRASHED}))
    (suspicion,) = trained.suspicions
    assert (suspicion.kind, suspicion.stage, suspicion.diagnosis.suspects) == (Kind.CRASH, Stage.UPDATE, (B,))
    assert judgements(trained)[A, B] is Judgement.FAIL


def test_without_labels_there_is_nothing_to_train_on(train: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match="needs labels"):
        train(Trainers(), labels={})
