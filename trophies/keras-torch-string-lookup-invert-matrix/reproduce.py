import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

print("expected [['a', '[UNK]']]")
try:
    print("observed", keras.layers.StringLookup(vocabulary=["a"], invert=True)(np.array([[1, 0]])))
except AttributeError as error:
    print("observed AttributeError:", error)
    raise SystemExit(1) from None
