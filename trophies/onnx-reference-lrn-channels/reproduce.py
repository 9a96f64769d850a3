"""onnx.reference: LRN sums the squares of as many channels as the batch has instances."""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

node = onnx.helper.make_node("LRN", ["x"], ["y"], size=3, alpha=3.0, beta=1.0, bias=1.0)
info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4, 1, 1]) for name in "xy"]
graph = onnx.helper.make_graph([node], "lrn", info[:1], info[1:])
model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
x = np.ones((1, 4, 1, 1), np.float32)
observed = ReferenceEvaluator(model).run(None, {"x": x})[0].ravel()
expected = np.array([1 / 3, 1 / 4, 1 / 4, 1 / 3], np.float32)
print("expected", expected, "observed", observed)
raise SystemExit(int(not np.allclose(observed, expected)))
