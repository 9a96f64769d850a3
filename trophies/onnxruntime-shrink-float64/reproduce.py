"""onnx Shrink: float64 computed in float32."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.array([123456789.125, 1e39])
graph = helper.make_graph(
    [helper.make_node("Shrink", ["x"], ["y"], lambd=0.5, bias=0.5)],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.DOUBLE, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
y = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
print("expected", x - 0.5, "observed", y)
raise SystemExit(int(not np.allclose(y, x - 0.5, rtol=1e-12)))
