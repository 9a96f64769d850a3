import logging
import os

logging.disable()  # the backend logs the traceback of what it tries first
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

x = np.ones((2, 3, 4), "float32")
try:
    y = keras.layers.MultiHeadAttention(num_heads=1, key_dim=2, value_dim=3)(x, x)
except Exception as error:
    print("raised", type(error).__name__, str(error).strip().splitlines()[-1])
    raise SystemExit(1) from None
print("shape", y.shape)
raise SystemExit(0 if tuple(y.shape) == (2, 3, 4) else 1)
