"""The hand-written encoder against the official one: equal bytes, and a model that its checker accepts."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.targets.lowering import protobuf

onnx = pytest.importorskip("onnx")
helper, numpy_helper = onnx.helper, onnx.numpy_helper


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, b"\x00"),
        (1, b"\x01"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (300, b"\xac\x02"),
        (2**63 - 1, b"\xff" * 8 + b"\x7f"),
        (-1, b"\xff" * 9 + b"\x01"),
    ],
)
def test_varint(value, encoded):
    assert protobuf.varint(value) == encoded


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_varint_refuses_more_than_64_bits(value):
    with pytest.raises(ValueError, match="64 bits"):
        protobuf.varint(value)


@pytest.mark.parametrize(
    "value", [0, -1, 2**40, 0.5, 0.3, float("inf"), "floor", "", "é", (1, -2, 300), (0,)], ids=repr
)
def test_attribute(value):
    assert protobuf.attribute("a", value) == helper.make_attribute("a", value).SerializeToString()


def test_attribute_beyond_float32_is_infinity():
    parsed = onnx.AttributeProto.FromString(protobuf.attribute("a", 1e300))
    assert parsed.f == float("inf")


@pytest.mark.parametrize("dtype", sorted(protobuf.DATA_TYPES.keys() - {"string"}))
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_tensor(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    assert protobuf.tensor("t", array) == numpy_helper.from_array(array, "t").SerializeToString()


def test_tensor_keeps_the_values_of_any_memory_layout():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for variant in (array.T, array[:, ::2], array.astype(">f4")):
        parsed = onnx.TensorProto.FromString(protobuf.tensor("t", variant))
        np.testing.assert_array_equal(numpy_helper.to_array(parsed), variant)


def test_value_info():
    official = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 0, 300])
    assert protobuf.value_info("x", "float32", (2, 0, 300)) == official.SerializeToString()


def test_node():
    official = helper.make_node("Resize", ["x", "", "s"], ["y"], name="y", mode="linear", antialias=0)
    attributes = {"mode": "linear", "antialias": 0}
    assert protobuf.node("Resize", ["x", "", "s"], ["y"], attributes, "y") == official.SerializeToString()


def test_model():
    shape, weight = (2, 3), np.ones((3, 4), np.float32)
    ours = protobuf.model(
        protobuf.graph(
            "g",
            nodes=[protobuf.node("MatMul", ["x", "w"], ["y"], {}, "n")],
            initializers=[protobuf.tensor("w", weight)],
            inputs=[protobuf.value_info("x", "float32", shape)],
            outputs=[protobuf.value_info("y", "float32", (2, 4))],
        ),
        ir_version=9,
        opset=20,
        producer="p",
    )
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="n")],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (2, 4))],
        [numpy_helper.from_array(weight, "w")],
    )
    opsets = [helper.make_opsetid("", 20)]
    official = helper.make_model(graph, ir_version=9, opset_imports=opsets, producer_name="p")
    assert ours == official.SerializeToString()
    onnx.checker.check_model(onnx.load_from_string(ours), full_check=True)
