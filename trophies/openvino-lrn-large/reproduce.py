"""onnx LRN: NaN beside a channel of 1e9."""

import numpy as np
import openvino
from onnx import TensorProto, helper

x = np.zeros((1, 16, 1, 2), np.float32)
x[0, 3, 0, 0] = 1e9
graph = helper.make_graph(
    [helper.make_node("LRN", ["x"], ["y"], size=5, alpha=5 * 2.0**-13, beta=0.75, bias=1.0)],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
core = openvino.Core()
y = core.compile_model(core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})({"x": x})[0]
expected = 1e9 / (1 + 2.0**-13 * 1e18) ** 0.75
print("expected", expected, "and no NaN; observed", y[0, 3, 0, 0], "and", int(np.isnan(y).sum()), "NaN")
raise SystemExit(int(not np.isclose(y[0, 3, 0, 0], expected, rtol=1e-4)))
