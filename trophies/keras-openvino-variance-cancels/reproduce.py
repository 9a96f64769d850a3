import os

os.environ["KERAS_BACKEND"] = "openvino"
import keras
import numpy as np

near = np.full((16,), 0.0363498554, "float32")
near[1:3] = 0.036349833
tens = np.array([10.0] * 15 + [10.02], "float32")
wrong = 0
for function, x in [("std", near), ("var", tens)]:
    expected = getattr(np, function)(x.astype("float64"))
    observed = float(keras.ops.convert_to_numpy(getattr(keras.ops, function)(x)))
    print(f"{function}: expected {expected}, observed {observed}")
    wrong += abs(observed - expected) > 0.05 * expected
raise SystemExit(1 if wrong else 0)
