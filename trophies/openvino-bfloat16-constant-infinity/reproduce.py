import os

os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"  # with instructions for bfloat16 it is right
import numpy as np
import openvino as ov
import openvino.opset13 as op

bits = np.array([[[0x7F80, 0]]], np.uint16)  # inf and 0
tensor = ov.Tensor(bits, [1, 1, 2], ov.Type.bf16)


def mean(source, inputs):
    pooled = op.convert(op.avg_pool(source, [2], [0], [0], [2], True), "f32")
    return ov.Core().compile_model(ov.Model([pooled], inputs), "CPU")([tensor][: len(inputs)])[0].item()


parameter = op.parameter([1, 1, 2], ov.Type.bf16)
print("as an input:", mean(parameter, [parameter]))
observed = mean(op.constant(tensor), [])
print("expected: inf")
print("observed:", observed)
raise SystemExit(0 if observed == np.inf else 1)
