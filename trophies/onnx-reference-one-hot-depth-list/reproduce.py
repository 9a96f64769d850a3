import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node("OneHot", ["indices", "depth", "values"], ["y"])
indices = helper.make_tensor_value_info("indices", TensorProto.INT64, [2])
depth = helper.make_tensor_value_info("depth", TensorProto.INT64, [1])
values = helper.make_tensor_value_info("values", TensorProto.FLOAT, [2])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "flags", [indices, depth, values], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
feeds = {"indices": np.array([0, 2]), "depth": np.array([3]), "values": np.array([0, 1], "float32")}
try:
    observed = ReferenceEvaluator(model).run(None, feeds)[0].tolist()
except TypeError as error:
    observed = error
print("expected:", [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
print("observed:", observed)
raise SystemExit(0 if observed == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]] else 1)
