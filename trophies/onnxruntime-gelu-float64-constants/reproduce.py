"""onnx Gelu, approximate=tanh: float64 with constants of float32."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.array([-1.0])
graph = helper.make_graph(
    [helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.DOUBLE, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
y = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
expected = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
print("expected", expected, "observed", y)
raise SystemExit(int(not np.allclose(y, expected, rtol=1e-12, atol=0)))
