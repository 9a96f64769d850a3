"""onnx Exp: infinity for NaN."""

import numpy as np
import openvino
from onnx import TensorProto, helper

x = np.float32([np.nan, 1.0])
graph = helper.make_graph(
    [helper.make_node("Exp", ["x"], ["y"])],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
core = openvino.Core()
y = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})({"x": x})[0]
print("expected [nan 2.718282] observed", y)
raise SystemExit(int(not np.isnan(y[0])))
