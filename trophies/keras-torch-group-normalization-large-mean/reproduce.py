import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.array([1000.0126, 999.9464, 999.9296], "float32").reshape(1, 3, 1)
y = keras.ops.convert_to_numpy(keras.layers.GroupNormalization(groups=1)(x)).ravel()
# (x - mean) / sqrt(variance + epsilon) in float64; the variance is about 0.0013, epsilon 0.001
exact = x.astype("float64").ravel()
expected = (exact - exact.mean()) / np.sqrt(exact.var() + 1e-3)
print("expected", expected)
print("observed", y)
raise SystemExit(0 if np.allclose(y, expected, atol=0.07) else 1)
