"""Where a layer is replayed that is right when it is run forward alone: by itself, so that it can be reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import ModelFile
from tensorparity.core.engine import Ask
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.model import Model
from tensorparity.core.oracle import Setup
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.measure.editing import graph_inputs, graph_of
from tensorparity.oracles.whole.cases import replayed_case
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner

TARGETS = ("fake:a", "fake:b", "fake:c")


def network() -> Model:
    build = GraphBuilder("shared")
    first = build.add("Dense", build.input("x", (3,)), name="dense", units=3)
    again = build.add("Dense", build.add("ReLU", first, name="relu"), again="dense", name="later", units=3)
    graph = build.build(build.add("Softmax", again, name="classes"))
    return Model("shared", graph, draw_weights(graph, np.random.default_rng(0)))


@pytest.mark.parametrize("call", [0, 1])
def test_a_layer_of_a_graph_is_replayed_alone_with_its_own_weights_and_recorded_inputs(
    fake_runner: Any, call: int
) -> None:
    model = network()
    assert model.graph is not None
    node = next(node for node in model.graph.nodes if node.key == f"dense#{call}")
    given = np.full((2, 3), 0.5 + call, np.float32)
    case = replayed_case(model, node, [given], seed=7)
    graph = graph_of(case)
    assert graph is not None, "it can be edited"
    assert [own.layer for own in graph.nodes] == ["dense"]
    assert set(case.weights) == {"dense/kernel", "dense/bias"}
    ((_, array),) = graph_inputs(case).items()
    assert array is given
    runner = fake_runner(targets=TARGETS, planted={"fake:b": {"dense": lambda y: y + 1}})
    examiner = Examiner(runner, Setup(0, TARGETS, traits_of(TARGETS)))
    (found,) = examiner.examine([Ask(case, TARGETS, ("layer_in_model",))])
    (suspicion,) = found.judged.suspicions
    assert suspicion.diagnosis.suspects == ("fake:b",)
    assert suspicion.diagnosis.api == "keras.layers.Dense"


def test_a_layer_of_a_file_is_replayed_where_it_stands() -> None:
    model = network()
    assert model.graph is not None
    file = ModelFile("model.keras", "0" * 64)
    own = Model("file", model.graph, model.weights, file)
    case = replayed_case(own, model.graph.nodes[0], [np.ones((1, 3), np.float32)], seed=0)
    assert case.subject is file
    assert case.procedure.nodes == ("dense#0",)
