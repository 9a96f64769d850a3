"""Causal testing: a parameter is guilty if one other value of it ends the failure, also on worse inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Answer, Check, Judged
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.place import CLEARS, FAILS, PERSISTS, UNDECIDED, Place, TriedValue, places_of
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Judgement, Kind, Measure, Verdict
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.operators.spec import Parameter
from tensorparity.oracles.causal import EVERY, _outcome, other_values, with_value
from tensorparity.reporting.words import sentence
from tensorparity.triage.guilty_parameters import evidence_of

from ..examining import examiner_for

TARGETS = ("fake:a", "fake:b", "fake:c")


def network() -> Case:
    """Two convolutions, of which the second has strides."""
    build = GraphBuilder()
    x = build.add("Conv2D", build.input("x", (6, 6, 1)), name="first", filters=2, kernel_size=3, padding="same")
    x = build.add("Conv2D", x, name="second", filters=2, kernel_size=3, strides=2, padding="same", activation="relu")
    graph = build.build(build.add("Flatten", x, name="flat"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((1, 6, 6, 1)).astype(np.float32)}
    return Case(graph, inputs=inputs, weights=draw_weights(graph, rng))


def wrong_where(runner: Any, trigger: Any) -> Any:
    """Have one target give wrong numbers for layers that the trigger is true of."""
    right = runner.run_pairs

    def run_pairs(pairs: Any, **how: Any) -> list[Outcome]:
        found = []
        for case, target in pairs:
            ops = [node for node in case.subject.nodes if trigger(node)] if hasattr(case.subject, "nodes") else []
            runner.planted = {"fake:b": {node.layer: lambda y: y + np.float32(0.5) for node in ops}}
            found += right([(case, target)], **how)
        return found

    runner.run_pairs = run_pairs
    return runner


def places(runner: Any, case: Case) -> list[Place]:
    (found,) = examiner_for(runner, TARGETS).examine([Ask(case, TARGETS, ("causal",))])
    return list(found.judged.facts["places"])


def test_the_parameter_that_switches_a_fault_on_is_guilty(fake_runner: Any) -> None:
    runner = wrong_where(fake_runner(), lambda node: node.params.get("strides") == 2)
    found = places(runner, network())
    assert [(place.node, place.parameter) for place in found] == [("second#0", "strides")]
    assert {one.outcome for one in found[0].tried if one.parameter == "strides"} == {CLEARS}
    assert found[0].clearing, "the values that end it"
    assert {one.outcome for one in found[0].tried if one.parameter == "activation"} == {PERSISTS}


def test_each_of_two_parameters_that_must_come_together_is_guilty(fake_runner: Any) -> None:
    def trigger(node: Any) -> bool:
        return node.params.get("strides") == 2 and node.params.get("padding") == "same"

    found = places(wrong_where(fake_runner(), trigger), network())
    assert {(place.node, place.parameter) for place in found} == {("second#0", "strides"), ("second#0", "padding")}


def test_a_fault_of_every_value_has_a_layer_and_no_parameter(fake_runner: Any) -> None:
    (place,) = places(wrong_where(fake_runner(), lambda node: node.layer == "first"), network())
    assert (place.node, place.parameter) == ("first#0", "")
    assert {one.outcome for one in place.tried} == {PERSISTS}


def test_two_layers_are_named_each_with_its_parameter(fake_runner: Any) -> None:
    def trigger(node: Any) -> bool:
        return node.params.get("strides") == 2 or node.layer == "first"

    found = places(wrong_where(fake_runner(), trigger), network())
    assert [(place.node, place.parameter) for place in found] == [("first#0", ""), ("second#0", "strides")]


def test_nobody_is_named_where_nothing_is_wrong(fake_runner: Any) -> None:
    assert places(fake_runner(), network()) == []


def test_a_value_that_clears_one_input_alone_clears_nothing(fake_runner: Any) -> None:
    """The fault is still there on inputs that Algorithm 1 makes larger."""
    runner = fake_runner()
    right = runner.run_pairs

    def run_pairs(pairs: Any, **how: Any) -> list[Outcome]:
        found = []
        for case, target in pairs:
            largest = max((float(np.abs(array).max()) for array in case.inputs.values()), default=0.0)
            nodes = getattr(case.subject, "nodes", ())
            wrong = [
                node for node in nodes if node.op == "Dense" and (node.params.get("use_bias", True) or largest > 3)
            ]
            runner.planted = {"fake:b": {node.layer: lambda y: y + np.float32(0.5) for node in wrong}}
            found += right([(case, target)], **how)
        return found

    runner.run_pairs = run_pairs
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (3,)), name="d", units=2))
    rng = np.random.default_rng(0)
    case = Case(graph, inputs={"x": np.array([[1.0, -1.0, 0.5]], np.float32)}, weights=draw_weights(graph, rng))
    (place,) = places(runner, case)
    assert place.parameter == ""


def test_a_value_that_fails_on_a_moved_input_clears_nothing(fake_runner: Any) -> None:
    """Without its bias the layer is right on its own input, and raises on inputs that Algorithm 1 makes larger."""
    runner = fake_runner()
    right = runner.run_pairs

    def run_pairs(pairs: Any, **how: Any) -> list[Outcome]:
        found = []
        for case, target in pairs:
            largest = max((float(np.abs(array).max()) for array in case.inputs.values()), default=0.0)
            dense = [node for node in getattr(case.subject, "nodes", ()) if node.op == "Dense"]
            wrong = [node for node in dense if node.params.get("use_bias", True)]
            runner.planted = {"fake:b": {node.layer: lambda y: y + np.float32(0.5) for node in wrong}}
            lost = target == "fake:b" and dense and not wrong and largest > 1.5
            refused = Outcome(target, Status.RAISED, failure=Failure("RuntimeError", "too large"))
            found.append(refused if lost else right([(case, target)], **how)[0])
        return found

    runner.run_pairs = run_pairs
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (3,)), name="d", units=2))
    rng = np.random.default_rng(0)
    case = Case(graph, inputs={"x": np.array([[1.0, -1.0, 0.5]], np.float32)}, weights=draw_weights(graph, rng))
    (place,) = places(runner, case)
    assert place.parameter == ""
    assert ("use_bias", False) in [(one.parameter, one.value) for one in place.failing]


def test_values_of_innocent_parameters_are_kept_beside_the_guilty_one() -> None:
    tried = (TriedValue("padding", "valid", CLEARS), TriedValue("strides", 2, FAILS))
    (place,) = places_of("l#0", tried)
    assert (place.parameter, place.clearing, place.failing) == ("padding", ["valid"], [tried[1]])
    said = evidence_of([place])
    assert said.data["fails"] == [{"parameter": "strides", "value": 2}]
    assert "it fails in another way with strides 2" in sentence(said)


def test_a_value_that_only_the_accused_runs_clears_nothing(fake_runner: Any) -> None:
    """Where nobody else runs it, nobody can say that the accused is right."""
    runner = wrong_where(fake_runner(), lambda node: node.layer == "second")
    with_fault = runner.run_pairs

    def run_pairs(pairs: Any, **how: Any) -> list[Outcome]:
        found = []
        for (case, target), outcome in zip(pairs, with_fault(pairs, **how), strict=True):
            nodes = getattr(case.subject, "nodes", ())
            lacking = target != "fake:b" and any(node.params.get("padding", "valid") == "valid" for node in nodes[-1:])
            refused = Outcome(target, Status.RAISED, failure=Failure("NotImplementedError", "not supported"))
            found.append(refused if lacking and nodes[-1].layer == "second" else outcome)
        return found

    runner.run_pairs = run_pairs
    found = places(runner, network())
    assert {(place.node, place.parameter) for place in found} == {("second#0", "")}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [(("keras",), UNDECIDED), (("fake:a",), CLEARS), (("fake:b",), PERSISTS), ((), CLEARS)],
)
def test_a_value_with_which_shared_code_is_wrong_clears_nothing(wrong: tuple[str, ...], expected: str) -> None:
    """Whether the accused would be wrong by itself cannot be seen there; that another target is wrong says nothing."""
    case, kind = network(), Kind.INCONSISTENCY
    claim = Suspicion(kind, Diagnosis(Class.DEFECT, ("fake:b",), node="second#0"), case, TARGETS)
    found = (Suspicion(kind, Diagnosis(Class.DEFECT, wrong, node="second#0"), case, TARGETS),) if wrong else ()
    outcomes = {target: Outcome(target, Status.COMPLETED) for target in TARGETS}
    answer = Answer(Check(case, TARGETS, "layer"), outcomes, Judged((), found))
    assert _outcome(claim, case, answer) == expected


@pytest.mark.parametrize(
    ("error", "who", "expected"),
    [
        (15.0, TARGETS, CLEARS),
        (17.0, TARGETS, UNDECIDED),
        (float("nan"), TARGETS, UNDECIDED),
        (17.0, ("fake:a",), CLEARS),
    ],
)
def test_a_value_with_which_everybody_is_beyond_rounding_clears_nothing(
    error: float, who: tuple[str, ...], expected: str
) -> None:
    case = network()
    claim = Suspicion(Kind.INCONSISTENCY, Diagnosis(Class.DEFECT, ("fake:b",), node="second#0"), case, TARGETS)
    alike = Verdict(Judgement.PASS, who, "precision", Measure("error-in-roundoffs", error), 16.0)
    outcomes = {target: Outcome(target, Status.COMPLETED) for target in TARGETS}
    assert _outcome(claim, case, Answer(Check(case, TARGETS, "layer"), outcomes, Judged((alike,)))) == expected


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        (Parameter("strides", (1, 1), ((1, 1), 2, 3)), 2, [(1, 1), 3]),
        (Parameter("strides", (1, 1), ((1, 1), 2, 3)), [1, 1], [2, 3]),
        (Parameter("use_bias", True, (True, False)), True, [False]),
        (Parameter("units", None, (1, 3, 4, 5), required=True), 3, [1, 4]),
    ],
)
def test_other_values_are_the_default_and_some_of_the_catalogue(parameter: Any, value: Any, expected: Any) -> None:
    assert other_values(parameter, value) == expected


def test_all_values_are_tried_where_that_is_asked_for() -> None:
    parameter = Parameter("units", None, (1, 3, 4, 5), required=True)
    assert other_values(parameter, 3, EVERY) == [1, 4, 5]


def test_weights_whose_shape_changes_are_drawn_by_the_seed() -> None:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x", (3,)), name="d", units=2))
    weights = draw_weights(graph, np.random.default_rng(0))
    case = Case(graph, inputs={"x": np.ones((1, 3), np.float32)}, weights=weights, seed=5)
    one, again = (with_value(case, "units", 4) for _ in range(2))
    assert one is not None
    assert again is not None
    assert one.weights["d/kernel"].shape == (3, 4)
    assert one.digest == again.digest
    linear = with_value(case, "activation", "relu")
    assert linear is not None
    assert linear.weights["d/kernel"] is weights["d/kernel"]
    assert with_value(case, "units", 0) is None
