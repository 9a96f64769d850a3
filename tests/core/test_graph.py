"""LayerGraph: what it refuses, and what its builder writes."""

from __future__ import annotations

import pytest

from tensorparity.core.errors import UsageError
from tensorparity.core.graph import GraphBuilder, InputSpec, LayerGraph, Node, Ref
from tensorparity.core.jsontext import canonical, parse

X = InputSpec("x", (None, 3))


def test_round_trip() -> None:
    node = Node("a", "Conv2D", (Ref("x"),), {"strides": [1, 2]}, layer="shared", call=0, call_params={"training": True})
    again = Node("b", "Conv2D", (Ref("a", 1),), {"strides": [1, 2]}, layer="shared", call=1)
    graph = LayerGraph((X, InputSpec("y", (), "int32")), (node, again), (Ref("b"), Ref("x")), "g")
    assert LayerGraph.from_json(parse(canonical(graph.to_json()))) == graph


@pytest.mark.parametrize(
    ("nodes", "outputs", "match"),
    [
        ([Node("x", "ReLU", (Ref("x"),))], [Ref("x")], "two inputs or nodes are named 'x'"),
        ([Node("a", "ReLU", (Ref("b"),)), Node("b", "ReLU", (Ref("x"),))], [Ref("b")], "node 'a' uses 'b' before"),
        ([Node("a", "ReLU", (Ref("a"),))], [Ref("a")], "node 'a' uses 'a' before it exists"),
        ([Node("a", "ReLU", (Ref("x"),))], [Ref("c")], "the outputs uses 'c' before it exists"),
        ([Node("a", "ReLU", (Ref("x"),))], [], "graph 'graph' has no outputs"),
        (
            [
                Node("a", "Dense", (Ref("x"),), {"units": 1}, layer="d"),
                Node("b", "Dense", (Ref("x"),), {"units": 2}, layer="d", call=1),
            ],
            [Ref("b")],
            "layer 'd' is declared in two ways: by 'a' and 'b'",
        ),
    ],
)
def test_graphs_that_cannot_be(nodes: list[Node], outputs: list[Ref], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        LayerGraph((X,), tuple(nodes), tuple(outputs))


def test_two_inputs_of_one_name() -> None:
    with pytest.raises(UsageError, match="named 'x'"):
        LayerGraph((X, X), (), (Ref("x"),))


def test_a_shared_layer_may_have_a_nan_parameter() -> None:
    build = GraphBuilder()
    first = build.add("Dense", build.input("x", (3,)), name="d", slope=float("nan"))
    graph = build.build(build.add("Dense", first, again="d"))
    again = LayerGraph.from_json(parse(canonical(graph.to_json())))
    assert canonical(again.to_json()) == canonical(graph.to_json())


def test_builder_names_nodes_and_calls() -> None:
    build = GraphBuilder("g")
    x = build.input("x", (3,))
    a = build.add("Dense", x, units=3)
    b = build.add("Dense", a, again="dense_1")
    c = build.add("ReLU", b, name="top")
    graph = build.build(c)
    assert [(node.name, node.key) for node in graph.nodes] == [
        ("dense_1", "dense_1#0"),
        ("dense_1__1", "dense_1#1"),
        ("top", "top#0"),
    ]
    assert graph.node("dense_1__1").params == {"units": 3}
    assert graph.predecessors(graph.node("top")) == (graph.node("dense_1__1"),)
    assert graph.predecessors(graph.node("dense_1")) == ()
    with pytest.raises(KeyError):
        graph.node("none")


def test_parameters_cannot_be_changed() -> None:
    params = {"units": 3}
    node = Node("a", "Dense", (Ref("x"),), params)
    params["units"] = 4
    assert node.params["units"] == 3
    with pytest.raises(TypeError):
        node.params["units"] = 5  # type: ignore[index]
