"""Graphs of several layers, examined on targets without libraries: what is lost on saving, what must be refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.procedure import Procedure
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles import layers
from tensorparity.reporting.words import sentences
from tensorparity.triage.reduction.preparation import reduce_suspicion
from tensorparity.triage.reduction.reducer import ReductionBudget

from ..examining import examine_case, examiner_for

TORCH = "keras:torch"
TARGETS = ("keras:tensorflow", TORCH)


def shifted(array: np.ndarray) -> np.ndarray:
    return array + np.float32(0.25)


@pytest.fixture
def network() -> Case:
    build = GraphBuilder("network")
    x = build.add("Dense", build.input("x", (3,)), name="first", units=4)
    x = build.add("LeakyReLU", x, name="leaky", negative_slope=0.7)
    graph = build.build(build.add("Dense", x, name="last", units=2))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((2, 3)).astype(np.float32)}
    return Case(graph, Procedure(reload=True), inputs=inputs, weights=draw_weights(graph, rng))


class TestReload:
    def test_the_layer_that_loses_something_is_named(self, fake_runner: Any, network: Case) -> None:
        runner = fake_runner(targets=TARGETS, lost={TORCH: {"leaky": shifted}})
        (suspicion,) = examine_case(runner, network, TARGETS)[0].suspicions
        assert (suspicion.stage, suspicion.diagnosis.klass) == (Stage.SAVE_LOAD, Class.DEFECT)
        assert (suspicion.diagnosis.suspects, suspicion.diagnosis.node) == ((TORCH,), "leaky#0")
        assert sentences(suspicion.diagnosis)[-1] == "before the model was saved and loaded, the same layer was right"

    def test_and_reduced_to_it(self, fake_runner: Any, network: Case) -> None:
        runner = fake_runner(targets=TARGETS, lost={TORCH: {"leaky": shifted}})
        (suspicion,) = examine_case(runner, network, TARGETS)[0].suspicions
        reduction = reduce_suspicion(examiner_for(runner, TARGETS), suspicion, ReductionBudget())
        assert reduction.suspicion is not None, reduction.stopped
        assert reduction.suspicion.key == suspicion.key
        assert isinstance(reduction.case.subject, LayerGraph)
        assert [node.layer for node in reduction.case.subject.nodes] == ["leaky"]
        assert reduction.case.procedure.reload

    def test_nor_of_one_layer_alone(self, fake_runner: Any) -> None:
        build = GraphBuilder("alone")
        graph = build.build(build.add("LeakyReLU", build.input("x", (3,)), name="leaky", negative_slope=0.7))
        case = Case(graph, Procedure(reload=True), inputs={"x": np.array([[-1.0, 2.0, -3.0]], np.float32)})
        before = fake_runner(targets=TARGETS, planted={TORCH: {"leaky": shifted}})
        (suspicion,) = examine_case(before, case, TARGETS)[0].suspicions
        assert (suspicion.stage, suspicion.case.procedure.reload) == (Stage.FORWARD, False)
        after = fake_runner(targets=TARGETS, lost={TORCH: {"leaky": shifted}})
        (suspicion,) = examine_case(after, case, TARGETS)[0].suspicions
        assert (suspicion.stage, suspicion.case.procedure.reload) == (Stage.SAVE_LOAD, True)

    def test_what_is_wrong_before_is_not_blamed_on_saving(self, fake_runner: Any, network: Case) -> None:
        runner = fake_runner(targets=TARGETS, planted={TORCH: {"leaky": shifted}})
        (suspicion,) = examine_case(runner, network, TARGETS)[0].suspicions
        assert (suspicion.stage, suspicion.case.procedure.reload) == (Stage.FORWARD, False)
        reduction = reduce_suspicion(examiner_for(runner, TARGETS), suspicion, ReductionBudget())
        assert reduction.suspicion is not None, reduction.stopped

    def test_nothing_lost_nothing_found(self, fake_runner: Any, network: Case) -> None:
        checked, _ = examine_case(fake_runner(targets=TARGETS), network, TARGETS)
        assert (checked.suspicions, checked.undecided) == ((), "")


def test_what_the_documentation_rules_out_in_a_graph_of_several(
    fake_runner: Any, network: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a reference would answer as readily as the targets."""
    monkeypatch.setattr(layers, "activations", lambda case: dict(zeros))
    zeros = {key: np.zeros((2, 4), np.float32) for key in ("first#0", "leaky#0", "last#0")}
    graph = network.subject
    assert isinstance(graph, LayerGraph)
    nodes = tuple(
        replace(node, params={"negative_slope": -0.5}) if node.layer == "leaky" else node for node in graph.nodes
    )
    case = replace(network, subject=replace(graph, nodes=nodes), procedure=Procedure())
    runner = fake_runner(targets=TARGETS, custom={"LeakyReLU": lambda x: x})  # both answer
    (suspicion,) = examine_case(runner, case, TARGETS)[0].suspicions
    assert (suspicion.kind, suspicion.stage) == (Kind.ACCEPTS_INVALID, Stage.BUILD)
    assert (suspicion.diagnosis.node, suspicion.diagnosis.api) == ("leaky#0", "keras.layers.LeakyReLU")
