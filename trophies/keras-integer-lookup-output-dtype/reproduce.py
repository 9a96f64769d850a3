import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

x = np.array([[12, 1138, 42, 42]], "int32")
layer = keras.layers.IntegerLookup(vocabulary=[12, 36, 1138, 42], output_mode="multi_hot")
promised = layer(keras.Input((4,), dtype="int32")).dtype
found = keras.backend.standardize_dtype(layer(x).dtype)
print("the symbolic output is of", promised)
print("the output is of         ", found)
raise SystemExit(0 if found == promised else 1)
