import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.ones((1, 4, 4, 1, 1), "float32")
try:
    y = keras.layers.AveragePooling3D(3, padding="same")(x)
except Exception as error:
    print("raised", type(error).__name__, str(error).strip().splitlines()[-1])
    raise SystemExit(1) from None
print("shape", tuple(y.shape))
raise SystemExit(0 if tuple(y.shape) == (1, 2, 2, 1, 1) else 1)
