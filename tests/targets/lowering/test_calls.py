"""An operator's case in a library's own words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.functions.native import native_name
from tensorparity.targets.lowering.calls import lower_call


def case_of(name: str, dtype: str = "float32", procedure: Procedure | None = None, **params: Any) -> Case:
    operator = OPERATORS.get(name)
    sizes = operator.sizes(params, operator.shapes[0])
    inputs = {
        item.name: np.ones((2, *sizes[item.name]) if item.stacked else sizes[item.name], dtype)
        for item in operator.operands
    }
    return Case(operator.api_call(params), procedure or Procedure(goal=Goal.CALL), inputs)


def lowered(library: str, case: Case) -> Any:
    found = lower_call(library, case)
    assert isinstance(found, tuple), found
    return found


def test_a_plain_call() -> None:
    subject, arrays = lowered("torch", case_of("softmax"))
    assert subject == {
        "kind": "api-call",
        "api": "torch.nn.functional.softmax",
        "args": [{"$array": "x"}],
        "kwargs": {"dim": -1},
        "times": 1,
    }
    assert list(arrays) == ["inputs:x"]


def test_channels_are_turned_there_and_back() -> None:
    subject, _ = lowered("tensorflow", case_of("conv2d", data_format="channels_first"))
    assert subject["args"][0] == {"$array": "x", "perm": [0, 3, 1, 2]}
    assert subject["kwargs"]["data_format"] == "NCHW"
    assert subject["perm"] == [0, 2, 3, 1]


def test_channels_last_in_torch_is_a_matter_of_strides() -> None:
    subject, _ = lowered("torch", case_of("conv2d"))
    assert subject["args"][0] == {"$array": "x", "perm": [0, 3, 1, 2], "view": True}
    first, _ = lowered("torch", case_of("conv2d", data_format="channels_first"))
    assert "view" not in first["args"][0]


def test_calls_within_calls() -> None:
    subject, _ = lowered("tensorflow", case_of("linear"))
    assert subject["api"] == "tensorflow.add"
    assert subject["args"][0]["$call"]["api"] == "tensorflow.linalg.matmul"
    assert native_name(OPERATORS.get("linear"), "tensorflow", case_of("linear")) == "tensorflow.linalg.matmul"


def test_what_a_library_lacks_is_said() -> None:
    assert lower_call("keras", case_of("mish")) == "keras has no mish"
    times = case_of("conv2d", padding="same", times=2)
    assert lower_call("torch", times) == "conv2d is not applied several times in torch", "zeros are a call of their own"


def test_several_times_in_another_layout() -> None:
    """Axes are turned before the first time and back after the last, and not in between."""
    for data_format in ("channels_last", "channels_first"):
        subject, _ = lowered("torch", case_of("conv2d", data_format=data_format, times=2))
        assert (subject["times"], subject["args"][0]["perm"], subject["perm"]) == (2, [0, 3, 1, 2], [0, 2, 3, 1])


def test_a_library_s_own_function_is_sent_as_it_is() -> None:
    case = Case(ApiCall("torch.fmod", (ArrayArg("a"), ArrayArg("b"))), Procedure(goal=Goal.CALL))
    assert lower_call("torch", case) is None
    assert lower_call("onnx", case) == "ONNX has no torch.fmod"


def test_onnx_refuses_what_does_not_travel() -> None:
    case = case_of("sigmoid")
    narrow = Case(case.subject, Procedure(goal=Goal.CALL, dtype="bfloat16"), case.inputs)
    assert lower_call("onnx", narrow) == "ONNX runtimes take no bfloat16 through NumPy"


@pytest.mark.onnxruntime
class TestOnnx:
    @pytest.mark.parametrize(
        "name", ["conv2d", "norm", "pooling", "sigmoid", "softmax", "layer_norm", "resize_bilinear"]
    )
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_models_are_valid(self, name: str, dtype: str) -> None:
        onnx = pytest.importorskip("onnx")
        subject, arrays = lowered("onnx", case_of(name, dtype))
        model = onnx.load_from_string(arrays["weights:model"].tobytes())
        assert {item.name for item in model.graph.input} == {item["tensor"] for item in subject["inputs"]}
        assert model.graph.output[0].name == subject["outputs"][0]["tensor"]

    def test_several_times_and_a_cast(self) -> None:
        onnx = pytest.importorskip("onnx")
        case = case_of("tanh", "float16", Procedure(goal=Goal.CALL, dtype="float32"), times=3)
        _, arrays = lowered("onnx", case)
        model = onnx.load_from_string(arrays["weights:model"].tobytes())
        assert [node.op_type for node in model.graph.node] == ["Cast", "Tanh", "Tanh", "Tanh"]
