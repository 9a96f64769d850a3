"""Keras on torch: ops.mean of float64 is computed in float32."""

import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.array([[1e130, 0.0, 0.0], [1 / 3, 2 / 3, 1e-9]])
observed = keras.ops.convert_to_numpy(keras.ops.mean(keras.ops.convert_to_tensor(x), axis=-1))
print("expected", x.mean(axis=-1), "observed", observed, observed.dtype)
raise SystemExit(int(not np.allclose(observed, x.mean(axis=-1), rtol=1e-12, atol=0)))
