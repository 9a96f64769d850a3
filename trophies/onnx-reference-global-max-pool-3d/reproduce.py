import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node("GlobalMaxPool", ["x"], ["y"])
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8, 4, 4, 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "pool", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
observed = ReferenceEvaluator(model).run(None, {"x": np.zeros((2, 8, 4, 4, 4), "float32")})[0].shape
print("expected:", (2, 8, 1, 1, 1))
print("observed:", observed)
raise SystemExit(0 if observed == (2, 8, 1, 1, 1) else 1)
