import os

os.environ["KERAS_BACKEND"] = "openvino"
import keras
import numpy as np

wrong = 0
for a, b, expected in [(np.inf, np.inf, np.pi / 4), (-0.0, -1.0, -np.pi)]:
    observed = keras.ops.convert_to_numpy(keras.ops.arctan2(np.array([a], "float32"), np.array([b], "float32")))[0]
    print(f"arctan2({a}, {b}): expected {expected}, observed {observed}")
    wrong += not np.isclose(observed, expected)
raise SystemExit(1 if wrong else 0)
