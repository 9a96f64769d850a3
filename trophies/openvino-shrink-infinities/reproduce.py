"""onnx Shrink: NaN for infinities."""

import numpy as np
import openvino
from onnx import TensorProto, helper

x = np.float32([np.inf, -np.inf, 2.0])
graph = helper.make_graph(
    [helper.make_node("Shrink", ["x"], ["y"], lambd=0.5, bias=0.5)],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
core = openvino.Core()
y = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})({"x": x})[0]
print("expected [inf -inf 1.5] observed", y)
raise SystemExit(int(bool(np.isnan(y).any())))
