import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

kernels = {"w": np.array([[[0], [0], [0], [3]]], "float32"), "r": np.zeros((1, 4, 1), "float32")}
x = np.ones((1, 1, 1), "float32")
activations = ["Sigmoid", "Relu", "Relu"]
node = helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], hidden_size=1, activations=activations)
inputs = [
    helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in {"x": x, **kernels}.items()
]
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
graph = helper.make_graph([node], "step", inputs, [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
observed = float(ReferenceEvaluator(model).run(None, {"x": x, **kernels})[0].squeeze())
print("expected:", 0.75)  # all gates are sigmoid(0) = 1/2: 1/2 * relu(1/2 * relu(3))
print("observed:", observed)
raise SystemExit(0 if observed == 0.75 else 1)
