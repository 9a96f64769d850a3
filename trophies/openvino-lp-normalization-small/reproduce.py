"""onnx LpNormalization: short vectors are not of length one."""

import numpy as np
import openvino
from onnx import TensorProto, helper

x = np.array([[0.0, 0.001]], np.float32)
graph = helper.make_graph(
    [helper.make_node("LpNormalization", ["x"], ["y"], axis=-1, p=2)],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
core = openvino.Core()
y = core.compile_model(core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})({"x": x})[0]
print("expected [[0. 1.]] observed", y)
raise SystemExit(int(not np.allclose(y, [[0.0, 1.0]], rtol=1e-5)))
