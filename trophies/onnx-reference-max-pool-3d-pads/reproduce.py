import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[1, 2, 3], pads=[0, 0, 1, 0, 1, 1])
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 3, 8, 6])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "pool", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
try:
    observed = ReferenceEvaluator(model).run(None, {"x": np.zeros((1, 1, 3, 8, 6), "float32")})[0].shape
except IndexError as error:
    observed = error
print("expected:", (1, 1, 3, 8, 6))
print("observed:", observed)
raise SystemExit(0 if observed == (1, 1, 3, 8, 6) else 1)
