"""Graphs of exported files: renamed ends, and what a tensor comes from."""

from __future__ import annotations

from typing import Any

import pytest

from tensorparity.worker.adapters.onnx_graphs import OnnxGraph

onnx = pytest.importorskip("onnx")
helper = onnx.helper
FLOAT, INT = 1, 6


def graph(*nodes: Any, inputs: Any = ("x", "y"), outputs: Any = ("z",), kind: int = FLOAT) -> OnnxGraph:
    made = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info(name, kind, ["N", 3]) for name in inputs],
        [helper.make_tensor_value_info(name, FLOAT, ["N", 3]) for name in outputs],
    )
    return OnnxGraph(helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)]))


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def cast(to: int, kind: int = FLOAT) -> OnnxGraph:
    return graph(node("Relu", "x", "r"), node("Identity", "r", "i"), node("Cast", "i", "z", to=to), kind=kind)


def test_copies_and_casts_to_the_same_type_are_seen_through() -> None:
    assert cast(FLOAT).origin("z") == "r"
    assert cast(FLOAT, kind=INT).origin("z") == "z"
    assert cast(FLOAT).origin("x") == "x"


def test_what_depends_on_the_given_tensors_alone() -> None:
    found = graph(node("Relu", "x", "r"), node("Add", "r y", "z"))
    assert found.needed_shapes(["z"], ["r", "y"]) == []
    assert found.needed_shapes(["z"], ["r"]) is None
    assert found.needed_shapes(["z"], ["x", "y"]) == []


def test_the_shape_of_an_input_is_not_its_values() -> None:
    found = graph(
        node("Relu", "y", "r"), node("Identity", "x", "c"), node("Shape", "c", "s"), node("Reshape", "r s", "z")
    )
    assert found.needed_shapes(["z"], ["r"]) == ["x"]


def test_what_a_branch_uses_counts() -> None:
    branch = helper.make_graph(
        [node("Relu", "y", "inside")], "b", [], [helper.make_tensor_value_info("inside", FLOAT, None)]
    )
    found = graph(node("If", "c", "z", then_branch=branch, else_branch=branch), inputs=("c", "y"))
    assert found.needed_shapes(["z"], ["c"]) is None
    assert found.needed_shapes(["z"], ["c", "y"]) == []


def test_ends_get_other_names_and_compute_the_same() -> None:
    import numpy as np
    from onnx.reference import ReferenceEvaluator

    found = graph(node("Sub", "x y", "z"))
    found.rename_input(found.inputs()[1], "some y")
    found.drop_outputs()
    found.add_output("difference", "z")
    x, y = np.ones((2, 3), np.float32), np.full((2, 3), 3, np.float32)
    (difference,) = ReferenceEvaluator(found.model).run(["difference"], {"x": x, "some y": y})
    np.testing.assert_array_equal(difference, x - y)
    assert [value.name for value in found.outputs()] == ["difference"]
    assert found.origin("y") == "some y"
