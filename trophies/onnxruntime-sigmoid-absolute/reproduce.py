"""onnx Sigmoid: absolute instead of relative precision for negative x."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.float32([-20.0, -15.0])
graph = helper.make_graph(
    [helper.make_node("Sigmoid", ["x"], ["y"])],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
y = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
expected = 1 / (1 + np.exp(-x.astype(np.float64)))
print("expected", expected, "observed", y)
raise SystemExit(int(np.abs(y / expected - 1).max() > 1e-5))
