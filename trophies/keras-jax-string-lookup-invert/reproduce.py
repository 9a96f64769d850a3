import os

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

print("expected ['a', '[UNK]']")
try:
    print("observed", list(keras.layers.StringLookup(vocabulary=["a"], invert=True)(np.array([1, 0]))))
except TypeError as error:
    print("observed TypeError:", error)
    raise SystemExit(1) from None
