"""onnx MaxPool: NaN is skipped, and nothing but NaN is -3.4e38."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

x = np.float32([[[1, np.nan, np.nan, np.nan, -np.inf, -np.inf]]])
graph = helper.make_graph(
    [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[2])],
    "one",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
y = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
print("expected [nan nan -inf] observed", y.ravel())
raise SystemExit(int(not (np.isnan(y.ravel()[:2]).all() and np.isneginf(y.ravel()[2]))))
