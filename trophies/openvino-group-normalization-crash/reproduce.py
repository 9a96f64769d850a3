import os
import subprocess
import sys

os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"  # the kernel for AVX-512 is right

CHILD = """
import numpy as np, openvino
from onnx import TensorProto, helper
nodes = [
    helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["normal"], num_groups=2),
    helper.make_node("Sub", ["normal", "z"], ["y"]),
]
shapes = {"x": [2, 4, 3], "scale": [4], "bias": [4], "z": [2, 4, 3]}
inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
graph = helper.make_graph(nodes, "graph", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
core = openvino.Core()
compiled = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU")
print(compiled({name: np.ones(shape, "float32") for name, shape in shapes.items()})[0].shape)
"""
done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=False)
print("expected: (2, 4, 3)")
print("observed:", done.stdout.strip() or f"the process ends with {done.returncode}")
raise SystemExit(0 if done.returncode == 0 else 1)
