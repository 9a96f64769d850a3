import os

os.environ["KERAS_BACKEND"] = "openvino"
import keras
import numpy as np

cases = [(keras.ops.log1p, 6e-8, 6e-8), (keras.ops.expm1, -3e-8, -3e-8), (keras.ops.log_sigmoid, 20.0, -2.0611536e-9)]
wrong = 0
for function, x, expected in cases:
    observed = float(keras.ops.convert_to_numpy(function(np.array([x], "float32")))[0])
    print(f"{function.__name__}({x}): expected {expected}, observed {observed}")
    wrong += abs(observed - expected) > 1e-4 * abs(expected)
raise SystemExit(1 if wrong else 0)
