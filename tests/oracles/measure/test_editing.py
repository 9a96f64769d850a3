"""What may be edited of a case."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.oracles.measure.editing import graph_inputs, graph_of


@pytest.mark.parametrize(("node", "is_edited"), [("first", False), ("last", True)])
def test_a_node_replayed_inside_of_a_graph_is_left_alone(node: str, is_edited: bool) -> None:
    """The case holds that node's inputs: those of the graph, or of its last node, are nowhere."""
    build = GraphBuilder("two")
    build_first = build.add("ReLU", build.input("x", (3,)), name="first")
    graph = build.build(build.add("Softmax", build_first, name="last"))
    inputs = {f"{node}#0/0": np.ones((1, 3), np.float32)}
    case = Case(graph, Procedure(goal=Goal.REPLAY, nodes=(f"{node}#0",)), inputs)
    assert (graph_of(case) is not None) == is_edited
    if is_edited:
        assert list(graph_inputs(case)) == ["first"]
