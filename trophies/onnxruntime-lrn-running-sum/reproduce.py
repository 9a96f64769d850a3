"""onnx LRN: NaN and wrong channels behind a large one."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.zeros((1, 7, 1, 1), np.float32)
x[0, 1], x[0, 4], x[0, 5] = 1e8, 1.0, 1.0
graph = helper.make_graph(
    [helper.make_node("LRN", ["x"], ["y"], size=5, alpha=0.001, beta=0.75, bias=1.0)],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
y = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
expected = (1 + 0.001 / 5 * 2) ** -0.75
print("expected", expected, "observed", y[0, 4:6, 0, 0])
raise SystemExit(int(not np.allclose(y[0, 4:6, 0, 0], expected, rtol=1e-5)))
