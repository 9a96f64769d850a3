import numpy as np
import onnxruntime
from onnx import TensorProto, helper

node = helper.make_node("LogSoftmax", ["x"], ["y"], axis=-1)
ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [1, 3]) for name in "xy"]
graph = helper.make_graph([node], "row", ends[:1], ends[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
observed = session.run(None, {"x": np.array([[0.0, np.nan, 0.0]])})[0]
print("expected: [[nan, nan, nan]]")
print("observed:", observed.tolist())
raise SystemExit(0 if np.isnan(observed).all() else 1)
