"""onnx MatMul and Mul, fused: the factor of a float64 product is rounded to float32."""

import math

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

scale, one = 1 / math.sqrt(8), np.array([[1.0]])
graph = helper.make_graph(
    [helper.make_node("MatMul", ["q", "k"], ["t"]), helper.make_node("Mul", ["t", "s"], ["y"])],
    "one",
    [helper.make_tensor_value_info(name, TensorProto.DOUBLE, (1, 1)) for name in ("q", "k")],
    [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
    [numpy_helper.from_array(np.array(scale), "s")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
y = float(session.run(None, {"q": one, "k": one})[0][0, 0])
print("expected", scale, "observed", y)
raise SystemExit(int(abs(y - scale) > 1e-12))
