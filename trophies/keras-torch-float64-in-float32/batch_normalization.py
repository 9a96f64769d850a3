import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

x = np.array([[0.1], [0.7], [-1.3]])
layer = keras.layers.BatchNormalization(dtype="float64")
observed = keras.ops.convert_to_numpy(layer(x, training=False))
error = float(np.abs(observed - x / np.sqrt(1.0 + 1e-3)).max())
print("dtype", observed.dtype, "largest error", error, "expected below 1e-12")
raise SystemExit(0 if error < 1e-12 else 1)
