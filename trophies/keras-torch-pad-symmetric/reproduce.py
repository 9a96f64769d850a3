import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.array([[1.0, 2.0, 3.0]], "float32")
expected = np.pad(x, [[0, 0], [0, 2]], mode="symmetric")
y = keras.ops.convert_to_numpy(keras.ops.pad(x, [[0, 0], [0, 2]], mode="symmetric"))
print("expected", expected)
print("observed", y)
raise SystemExit(0 if np.array_equal(y, expected) else 1)
