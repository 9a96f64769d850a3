import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.arange(12, dtype="float32").reshape(1, 3, 4) ** 2
layer = keras.layers.LayerNormalization(axis=1)
expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3)
try:
    y = keras.ops.convert_to_numpy(layer(x))
except Exception as error:
    print("raised", type(error).__name__, str(error).splitlines()[0])
    raise SystemExit(1) from None
print("largest difference from the formula", np.abs(y - expected).max())
raise SystemExit(0 if np.allclose(y, expected, rtol=1e-4, atol=1e-4) else 1)
