import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node("Mean", ["a", "b"], ["y"])
a = helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 1])
b = helper.make_tensor_value_info("b", TensorProto.FLOAT, [2, 3])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "mean", [a, b], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
try:
    feeds = {"a": np.ones((2, 1), "float32"), "b": np.ones((2, 3), "float32")}
    observed = ReferenceEvaluator(model).run(None, feeds)[0].shape
except ValueError as error:
    observed = error
print("expected:", (2, 3))
print("observed:", observed)
raise SystemExit(0 if observed == (2, 3) else 1)
