"""What lies behind a discontinuity, and what does not."""

from __future__ import annotations

import pytest

from tensorparity.core.graph import GraphBuilder, Node
from tensorparity.oracles.measure.discontinuity import downstream_of_discontinuity, is_discontinuous


@pytest.mark.parametrize(
    "op",
    [
        "Round", "Floor", "Argmax", "TopK", "onnx.ArgMax", "onnx.TopK", "onnx.Round", "onnx.GreaterOrEqual",
        "onnx.QuantizeLinear", "onnx.QLinearConv", "onnx.ai.onnx.Sign", "onnx.com.microsoft.QLinearAdd",
        "torch.ops.aten.argmax.default", "torch.ops.aten.floor_.default", "torch.ops.aten.ge.Scalar",
        "torch.ops.aten.sort.stable", "torch.floordiv", "Discretization", "Masking", "Embedding",
    ],
)  # fmt: skip
def test_operators_that_step(op: str) -> None:
    assert is_discontinuous(Node("n", op, ()))


@pytest.mark.parametrize("op", ["Dense", "onnx.Conv", "onnx.Max", "torch.ops.aten.relu.default", "ReLU", "Mystery"])
def test_operators_that_do_not(op: str) -> None:
    assert not is_discontinuous(Node("n", op, ()))


@pytest.mark.parametrize(
    ("op", "params", "steps"),
    [
        ("onnx.Cast", {"to": 7}, True),
        ("onnx.Cast", {"to": 9}, True),
        ("onnx.Cast", {"to": 1}, False),
        ("onnx.Cast", {"to": 16}, False),
        ("torch.ops.aten._to_copy.default", {"dtype": "torch.int64"}, True),
        ("torch.ops.aten.to.dtype", {"dtype": "float16"}, False),
        ("Cast", {"dtype": "int32"}, True),
        ("Cast", {}, False),
    ],
)
def test_only_casts_to_integers_step(op: str, params: dict[str, object], steps: bool) -> None:
    assert is_discontinuous(Node("n", op, (), params)) is steps


def test_all_that_depends_on_a_step_is_downstream() -> None:
    build = GraphBuilder()
    dense = build.add("Dense", build.input("x", (4,)), name="dense", units=4)
    step = build.add("Round", dense, name="step")
    after = build.add("Dense", step, name="after", units=2)
    beside = build.add("Dense", dense, name="beside", units=2)
    total = build.add("Add", after, beside, name="total")
    graph = build.build(total, build.add("onnx.Shape", total, name="sizes"))
    assert downstream_of_discontinuity(graph) == {"step#0", "after#0", "total#0"}


def test_a_step_on_the_inputs_themselves_excuses_nothing() -> None:
    build = GraphBuilder()
    ids = build.add("Reshape", build.input("ids", (4,), "int32"), name="shaped", target_shape=[2, 2])
    x = build.add("Embedding", ids, name="embedding", input_dim=5, output_dim=3)
    assert downstream_of_discontinuity(build.build(build.add("Dense", x, name="dense", units=2))) == set()


def test_a_layer_called_twice_is_told_apart_by_its_call() -> None:
    build = GraphBuilder()
    dense = build.add("Dense", build.input("x", (4,)), name="dense", units=4)
    again = build.add("Dense", build.add("Sign", dense, name="sign"), again="dense", units=4)
    assert downstream_of_discontinuity(build.build(again)) == {"sign#0", "dense#1"}
