"""What a campaign convicts, replay and reduction convict again: there is one judge per stage of a training step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.commands.opening import OpenCase
from tensorparity.core.arrays import Array
from tensorparity.core.case import Case, ModelFile
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.runner import run_case
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Stage
from tensorparity.oracles.failing_alike import FAILURE
from tensorparity.oracles.isolated_checks import backward_check
from tensorparity.oracles.kinds import ORACLE_OF_KIND, ORACLES, oracle_of, particular_oracle
from tensorparity.store.casefile import CaseFile, read_case, write_case
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.exports import ExportedCases
from tensorparity.triage.examine import Examiner
from tensorparity.triage.reduction.preparation import reduce_suspicion
from tensorparity.triage.reduction.reducer import ReductionBudget

from ..examining import examine_case
from ..judging import judge
from ..stepping import ExaminedSteps
from .planted_cases import CASES, CONVICT_NOBODY, example_oracle

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


# Every oracle that is registered


@pytest.fixture
def known_oracles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the oracles, with that of the example package."""
    names = {*ORACLES.names(), "nonnegative"}
    monkeypatch.setitem(ORACLES._paths, "nonnegative", "tensorparity_example.oracle:NonNegative")
    monkeypatch.setitem(ORACLES._loaded, "nonnegative", example_oracle())
    return sorted(names)


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Case]]:
    """Whoever judges a case that is not a check of another one."""
    asked: list[tuple[str, Case]] = []
    depth = 0
    settle = Examiner._settle

    def watched(self: Examiner, jobs: Any, *rest: Any, **more: Any) -> None:
        nonlocal depth
        if not depth:
            asked.extend((job.oracle, job.case) for job in jobs)
        depth += 1
        try:
            settle(self, jobs, *rest, **more)
        finally:
            depth -= 1

    monkeypatch.setattr(Examiner, "_settle", watched)
    return asked


def test_every_registered_oracle_is_here(known_oracles: list[str]) -> None:
    assert not set(CASES) & CONVICT_NOBODY
    assert set(CASES) | CONVICT_NOBODY == set(known_oracles)
    of_kinds = set(ORACLE_OF_KIND.values()) - {"training_step"}  # whose network is one layer here
    assert {name: oracle_of(CASES[name].case) for name in of_kinds} == {name: name for name in of_kinds}


@pytest.mark.parametrize("name", sorted(CONVICT_NOBODY))
@pytest.mark.parametrize("of", ["call", "layers", "failure", "trained_layer", "operator_errors", "direct_counterpart"])
def test_who_only_measures_convicts_nobody(name: str, of: str, fake_runner: Any) -> None:
    """Also of what others convict."""
    planted = CASES[of]
    setup = Setup(targets=planted.targets, traits=traits_of(planted.targets))
    (found,) = Examiner(planted.runner(fake_runner), setup).examine([Ask(planted.case, oracles=(name,))])
    assert not found.judged.suspicions


def same_judge(suspicion: Suspicion, judges: list[tuple[str, Case]]) -> bool:
    """Whether nobody judged but whoever convicted: of what a kind of case has an oracle for, that of the kind."""
    by_kind = suspicion.oracle == oracle_of(suspicion.case)
    wanted = [oracle_of(case) if by_kind else suspicion.oracle for _, case in judges]
    if suspicion.oracle == FAILURE:  # what runs alone may give a wrong answer once it no longer fails
        wanted = [oracle if oracle == oracle_of(case) else FAILURE for oracle, case in judges]
    return bool(judges) and wanted == [oracle for oracle, _ in judges]


@pytest.mark.parametrize("name", CASES)
def test_who_convicts_confirms_and_reduces_and_replays(
    name: str, fake_runner: Any, judges: list[tuple[str, Case]], known_oracles: list[str], tmp_path: Path
) -> None:
    planted = CASES[name]
    runner = planted.runner(fake_runner)
    examiner = Examiner(runner, Setup(targets=planted.targets, traits=traits_of(planted.targets)))
    found = examiner.examine([Ask(planted.case, oracles=(name,))])
    suspicion = found[0].judged.suspicions[0]
    suspects = (planted.wrong,) if planted.suspects is None else planted.suspects
    assert (suspicion.diagnosis.klass, suspicion.diagnosis.suspects) == (Class.DEFECT, suspects)
    assert suspicion.oracle == (planted.signs or name)

    judges.clear()
    again, _ = examiner.confirm(found)[0]
    assert (again.key, again.diagnosis.klass, again.oracle) == (suspicion.key, Class.DEFECT, suspicion.oracle)
    assert {oracle for oracle, _ in judges} == {suspicion.oracle}

    judges.clear()
    reduction = reduce_suspicion(examiner.on(runner), again, ReductionBudget(checks=6))
    assert reduction.suspicion is not None, reduction.stopped
    assert reduction.suspicion.key == suspicion.key
    assert same_judge(suspicion, judges)

    judges.clear()
    opened = open_again(reduction.suspicion, runner, tmp_path / "one.tpcase")
    (replayed,) = opened.examiner(runner).examine([opened.ask], claim=opened.claim)
    assert replayed.judged.of_key(suspicion.key) is not None
    assert same_judge(reduction.suspicion, judges)


def open_again(suspicion: Suspicion, runner: Any, path: Path) -> OpenCase:
    """A finding's case as ``replay`` opens it, from its file where it holds all that there is."""
    suspects = suspicion.diagnosis.suspects
    file = CaseFile(suspicion.case, suspicion.targets, suspects=suspects, oracle=particular_oracle(suspicion))
    if not isinstance(suspicion.case.subject, ModelFile):
        write_case(path, file)
        file = read_case(path)
    return OpenCase(path, file, suspicion.targets, runner, ExportedCases({}), file.oracle)
