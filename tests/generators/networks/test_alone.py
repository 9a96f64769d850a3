"""A layer that is taken out of a network has there what it had in it."""

from __future__ import annotations

import itertools

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.procedure import Procedure
from tensorparity.generators.networks.alone import alone
from tensorparity.generators.single_cases.reloads import networks_of_one
from tensorparity.operators.reference.evaluate import evaluate


def network() -> Case:
    builder = GraphBuilder()
    x = builder.add("Reshape", builder.input("x", (4,)), target_shape=[2, 2], name="shaped")
    y = builder.add("Dense", builder.add("ReLU", x, name="cut"), units=3, name="wanted")
    graph = builder.build(builder.add("Flatten", y, name="flat"))
    weights = {"wanted/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "wanted/bias": np.ones(3, np.float32)}
    return Case(graph, Procedure(), {"x": np.array([[1, -2, 3, -4]], np.float32)}, weights=weights)


def test_it_gets_what_flows_into_it_and_its_weights() -> None:
    found = alone(network(), "Dense")
    assert found is not None
    assert isinstance(found.subject, LayerGraph)
    assert [node.op for node in found.subject.nodes] == ["Dense"]
    assert found.inputs["x0"].tolist() == [[[1, 0], [3, 0]]]
    assert found.inputs["x0"].dtype == np.float32
    assert set(found.weights) == {"dense/kernel", "dense/bias"}
    truth = evaluate(network().subject, network().inputs, network().weights)["wanted#0"][0].value  # type: ignore[arg-type]
    own = evaluate(found.subject, found.inputs, found.weights)["dense#0"][0].value
    assert (own == truth).all()


def test_there_is_none_of_a_layer_that_is_not_there() -> None:
    assert alone(network(), "Conv2D") is None


def test_whole_numbers_stay_what_they_are() -> None:
    builder = GraphBuilder()
    x = builder.add("Reshape", builder.input("x", (4,), dtype="int32"), target_shape=[2, 2], name="shaped")
    graph = builder.build(builder.add("CategoryEncoding", x, num_tokens=5, output_mode="multi_hot", name="coded"))
    found = alone(Case(graph, inputs={"x": np.array([[0, 1, 2, 3]], np.int32)}), "CategoryEncoding")
    assert found is not None
    assert found.inputs["x0"].dtype == np.int32


def test_layers_of_the_catalogue_come_out_of_their_networks() -> None:
    for name, case in itertools.islice(networks_of_one(0, ("Dense", "Attention", "Embedding", "LSTM", "Add")), 10):
        found = alone(case, name)
        assert found is not None
        assert isinstance(found.subject, LayerGraph)
        assert [node.op for node in found.subject.nodes] == [name]
