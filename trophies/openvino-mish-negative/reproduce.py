"""onnx Mish: nothing is left for negative x."""

import numpy as np
import openvino
from onnx import TensorProto, helper

x = np.float32([-20.0])
graph = helper.make_graph(
    [helper.make_node("Mish", ["x"], ["y"])],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
core = openvino.Core()
y = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})({"x": x})[0]
expected = x * np.tanh(np.log1p(np.exp(x.astype(np.float64))))
print("expected", expected, "observed", y)
raise SystemExit(int(np.abs(y / expected - 1).max() > 1e-5))
