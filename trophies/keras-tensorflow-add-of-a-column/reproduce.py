import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

a, b = np.zeros((1, 2, 2, 1), "float32"), np.array([[1.0], [2.0]], "float32")
y = keras.ops.convert_to_numpy(keras.ops.add(a, b)).ravel()
print("expected", (a + b).ravel())
print("observed", y)
raise SystemExit(0 if np.array_equal(y, (a + b).ravel()) else 1)
