"""onnx ReduceMax, ReduceMin: whether a NaN counts depends on where it stands."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.float32([[np.nan, 1, 2], [1, np.nan, 2], [1, 2, np.nan]])
graph = helper.make_graph(
    [helper.make_node("ReduceMax", ["x"], ["y"], axes=[1], keepdims=0)],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
y = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
print("expected [nan nan nan] observed", y)
raise SystemExit(int(not np.isnan(y).all()))
