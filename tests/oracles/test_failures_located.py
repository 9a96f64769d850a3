"""Networks that end badly, on handmade targets: which layer is named, and whose fault it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.outcome import Failure, Outcome, Status, Trace
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.reference.evaluate import evaluate

from ..judging import judge
from ..stepping import ExaminedSteps

TF, JAX, TORCH = TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")
FAMILIES = dict.fromkeys(TARGETS, "keras")
Ends = Callable[[Case, str], Failure | None]


class Targets:
    """Right everywhere but for ``ends``, which says how a target ends, and ``changed``, what it makes of a node."""

    targets = TARGETS

    def __init__(self, ends: Ends, status: Status = Status.RAISED, changed: Any = None) -> None:
        self._ends, self._status, self._changed = ends, status, changed
        self.ran: list[tuple[Case, str]] = []

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **more: Any) -> list[Outcome]:
        self.ran += pairs
        return [self._run(case, target) for case, target in pairs]

    def _run(self, case: Case, target: str) -> Outcome:
        failure = self._ends(case, target)
        if failure is not None:
            return Outcome(target, self._status, failure=failure)
        graph = case.subject
        assert isinstance(graph, LayerGraph)
        if case.procedure.goal is Goal.REPLAY:
            return Outcome(target, Status.COMPLETED)
        nodes: dict[str, Array] = {}
        for key, outputs in evaluate(graph, case.inputs, case.weights).items():
            value = outputs[0].value.astype(np.float32)
            nodes[key] = self._changed(key, target, value) if self._changed else value
        keys = {node.name: node.key for node in graph.nodes}
        found = {ref.node: nodes[keys[ref.node]] for ref in graph.outputs if ref.node in keys}
        return Outcome(target, Status.COMPLETED, found, Trace(nodes=nodes))


def chain(*ops: str, goal: Goal = Goal.FORWARD) -> Case:
    build = GraphBuilder("chain")
    x = build.input("x", (3,))
    for index, op in enumerate(ops):
        x = build.add(op, x, name=f"{op.lower()}{index}")
    labels = {f"{ops[-1].lower()}{len(ops) - 1}": np.zeros((2, 3), np.float32)}
    training = {"loss": Recipe("MeanSquaredError"), "optimizer": Recipe("SGD")} if goal is Goal.UPDATE else {}
    procedure = Procedure(goal=goal, trace=goal is Goal.FORWARD, **training)  # type: ignore[arg-type]
    inputs = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    return Case(build.build(x), procedure, inputs, labels if training else {})


def holds_op(case: Case, op: str) -> bool:
    return isinstance(case.subject, LayerGraph) and any(node.op == op for node in case.subject.nodes)


def found(runner: Targets, case: Case) -> list[tuple[Any, ...]]:
    (step,) = ExaminedSteps(runner, TARGETS, FAMILIES).examine([case])
    return [(s.kind, s.stage, s.diagnosis.suspects, s.diagnosis.api) for s in step.convicted]


def test_a_process_that_dies_says_nothing_and_its_layer_is_found_all_the_same() -> None:
    def ends(case: Case, target: str) -> Failure | None:
        return Failure("SIGFPE", "died") if target == TF and holds_op(case, "ELU") else None

    said = found(Targets(ends, Status.CRASHED), chain("ReLU", "ELU", "Softmax"))
    assert said == [(Kind.CRASH, Stage.FORWARD, (TF,), "keras.layers.ELU")]


def test_what_everybody_refuses_is_one_finding_of_the_code_they_share() -> None:
    def ends(case: Case, target: str) -> Failure | None:
        name = next((node.key for node in case.subject.nodes if node.op == "ELU"), None)  # type: ignore[union-attr]
        return Failure("ValueError", f"in the words of {target}", name) if name else None

    said = found(Targets(ends), chain("ReLU", "ELU", "Softmax"))
    assert said == [(Kind.ERROR, Stage.FORWARD, ("keras",), "keras.layers.ELU")]


def test_two_targets_that_end_for_two_reasons_are_two_findings() -> None:
    def ends(case: Case, target: str) -> Failure | None:
        reasons = {TF: "ELU", TORCH: "Softmax"}
        nodes = case.subject.nodes  # type: ignore[union-attr]
        name = next((node.key for node in nodes if node.op == reasons.get(target)), None)
        return Failure("ValueError", "no", name) if name else None

    said = found(Targets(ends), chain("ReLU", "ELU", "Softmax"))
    assert {(suspects, api) for _, _, suspects, api in said} == {
        ((TF,), "keras.layers.ELU"),
        ((TORCH,), "keras.layers.Softmax"),
    }


@pytest.mark.parametrize("wrong", [JAX, TORCH], ids=["its own", "another's"])
def test_who_hands_over_something_wrong_stands_for_who_fails_of_it(wrong: str) -> None:
    """A fault of another target before it excuses nobody."""

    def changed(key: str, target: str, value: Array) -> Array:
        return value + 1 if target == wrong and key.startswith("elu") else value

    def ends(case: Case, target: str) -> Failure | None:
        nodes = case.subject.nodes  # type: ignore[union-attr]
        together = len(nodes) > 1 and any(node.op == "Softmax" for node in nodes)
        return Failure("ValueError", "no", "softmax1#0") if together and target == JAX else None

    said = found(Targets(ends, changed=changed), chain("ELU", "Softmax", "ReLU"))
    failed = (Kind.ERROR, Stage.FORWARD, (JAX,), "keras.layers.Softmax")
    handed = (Kind.INCONSISTENCY, Stage.FORWARD, (wrong,), "keras.layers.ELU")
    assert set(said) == ({handed} if wrong == JAX else {handed, failed})


def test_a_training_step_that_dies_is_not_the_optimizers_fault() -> None:
    case = chain("ReLU", goal=Goal.UPDATE)
    outcomes = {
        TF: Outcome(TF, Status.CRASHED, failure=Failure("SIGSEGV", "died")),
        TORCH: Outcome(TORCH, Status.COMPLETED, {"relu0": np.zeros((2, 3), np.float32)}),
    }
    suspicion, _ = judge(case, outcomes)
    assert suspicion is not None
    assert (suspicion.diagnosis.klass, suspicion.diagnosis.api) == (Class.DEFECT, "keras.layers.ReLU")


def test_one_that_raises_in_the_update_is() -> None:
    case = chain("ReLU", goal=Goal.UPDATE)
    failure = Failure("TypeError", "no", stage="update")
    outcomes = {
        TF: Outcome(TF, Status.RAISED, failure=failure),
        TORCH: Outcome(TORCH, Status.COMPLETED, {"relu0": np.zeros((2, 3), np.float32)}),
    }
    suspicion, _ = judge(case, outcomes)
    assert suspicion is not None
    assert (suspicion.stage, suspicion.diagnosis.api) == (Stage.UPDATE, "keras.optimizers.SGD")
