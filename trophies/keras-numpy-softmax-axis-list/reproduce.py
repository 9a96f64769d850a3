import os

os.environ["KERAS_BACKEND"] = "numpy"
import keras
import numpy as np

x = np.zeros((1, 2, 2), "float32")
print("expected", np.full((1, 2, 2), 0.25).tolist())
try:
    observed = np.asarray(keras.layers.Softmax(axis=[-2, -1])(x))
except TypeError as error:
    print("observed", type(error).__name__, error)
    raise SystemExit(1) from None
print("observed", observed.tolist())
raise SystemExit(0 if np.allclose(observed, 0.25) else 1)
