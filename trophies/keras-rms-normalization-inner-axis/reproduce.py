import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

x = np.arange(1, 13, dtype="float32").reshape(1, 3, 4)
expected = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)
try:
    y = keras.ops.convert_to_numpy(keras.layers.RMSNormalization(axis=1)(x))
except Exception as error:
    print("raised", type(error).__name__, str(error).strip().splitlines()[0])
    raise SystemExit(1) from None
print("largest difference from the formula", np.abs(y - expected).max())
raise SystemExit(0 if np.allclose(y, expected, rtol=1e-4) else 1)
