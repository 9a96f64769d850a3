import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.array([1.0, 2.0, 4.0], "float32").reshape(1, 3, 1)
y = keras.ops.convert_to_numpy(keras.layers.AveragePooling1D(4, 1, padding="same")(x)).ravel()
# The window of each step, without what was padded: [1 2 4], [1 2 4], [2 4]
expected = np.array([7 / 3, 7 / 3, 3.0], "float32")
print("expected", expected)
print("observed", y)
raise SystemExit(0 if np.allclose(y, expected, rtol=1e-5) else 1)
