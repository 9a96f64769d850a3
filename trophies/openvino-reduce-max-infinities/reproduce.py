"""onnx ReduceMax, ReduceMin: the largest of minus infinities is -3.4e38."""

import numpy as np
import openvino
from onnx import TensorProto, helper

x = np.float32([[-np.inf, -np.inf], [np.nan, 1.0]])
graph = helper.make_graph(
    [helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=0)],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
core = openvino.Core()
y = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})({"x": x})[0]
print("expected [-inf nan] observed", y)
raise SystemExit(int(not (np.isneginf(y[0]) and np.isnan(y[1]))))
