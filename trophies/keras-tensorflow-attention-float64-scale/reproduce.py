"""Keras on TensorFlow: ops.dot_product_attention of float64 has a scale of float32."""

import math
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

q, k, v = (np.zeros((1, 2, 1, 8)) for _ in range(3))
for array in (q, k, v):
    array[0, 0, 0, 0] = 1.0
observed = float(keras.ops.convert_to_numpy(keras.ops.dot_product_attention(q, k, v))[0, 0, 0, 0])
power = math.exp(1 / math.sqrt(8))
print("expected", power / (power + 1), "observed", observed)
raise SystemExit(int(abs(observed - power / (power + 1)) > 1e-12))
