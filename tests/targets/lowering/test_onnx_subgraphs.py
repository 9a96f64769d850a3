"""Nodes with branches under other names: the branches must speak of the renamed tensors, not of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.onnx.model import parse_model
from tensorparity.targets.lowering.onnx_subgraphs import renamed_node

onnx = pytest.importorskip("onnx")
helper = onnx.helper


def branch(nodes: list[Any], output: str) -> Any:
    return helper.make_graph(nodes, "b", [], [helper.make_tensor_value_info(output, 1, None)])


def model() -> Any:
    """``z`` is twice ``x``, by a branch inside a branch, or ``x``; ``own`` is made inside and outside."""
    twice = branch([helper.make_node("Add", ["x", "x"], ["own"])], "own")
    once = branch([helper.make_node("Identity", ["x"], ["same"])], "same")
    inner = helper.make_node("If", ["c"], ["chosen"], then_branch=twice, else_branch=once)
    node = helper.make_node("If", ["c"], ["z"], then_branch=branch([inner], "chosen"), else_branch=once)
    inputs = [helper.make_tensor_value_info("c", 9, []), helper.make_tensor_value_info("x", 1, None)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("z", 1, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@pytest.mark.parametrize("choice", [True, False])
def test_branches_follow(choice: bool) -> None:
    from onnx.reference import ReferenceEvaluator

    changed = model()
    (node,) = parse_model(changed.SerializeToString()).graph.nodes
    assert set(node.captured) == {"c", "x"}
    names = {"c": "other/c", "x": "other/x", "z": "other/z", "own": "other/own"}
    changed.graph.node[0].ParseFromString(renamed_node(node, names, "other"))
    for value in (*changed.graph.input, *changed.graph.output):
        value.name = names[value.name]
    x = np.array([1.0, 2.0], np.float32)
    (z,) = ReferenceEvaluator(changed).run(None, {"other/c": np.array(choice), "other/x": x})
    np.testing.assert_array_equal(z, x * 2 if choice else x)
