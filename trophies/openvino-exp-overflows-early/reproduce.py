"""onnx Exp: infinite before the range of float32 ends."""

import numpy as np
import openvino
from onnx import TensorProto, helper

x = np.full(16, 88.6, np.float32)
graph = helper.make_graph(
    [helper.make_node("Exp", ["x"], ["y"])],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
core = openvino.Core()
y = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})({"x": x})[0]
print("expected", np.exp(x.astype(np.float64))[0], "observed", y[0])
raise SystemExit(int(not np.isfinite(y).all()))
