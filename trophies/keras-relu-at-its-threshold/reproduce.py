import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

y = keras.ops.convert_to_numpy(keras.layers.ReLU(threshold=1.0)(np.array([[1.0, 2.0]], "float32")))
print("expected [[1. 2.]]")
print("observed", y)
raise SystemExit(0 if np.array_equal(y, [[1.0, 2.0]]) else 1)
