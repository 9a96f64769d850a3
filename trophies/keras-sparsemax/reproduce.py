import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

y = keras.ops.convert_to_numpy(keras.activations.sparsemax(np.array([[1.0, 1.0, -9.0]], "float32")))
print("expected [[0.5 0.5 0. ]], which sums to 1")
print("observed", y, "which sums to", y.sum())
raise SystemExit(0 if np.allclose(y, [[0.5, 0.5, 0.0]]) else 1)
