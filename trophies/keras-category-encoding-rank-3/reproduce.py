import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

x = np.array([[[0, 1, 1, 2, 0]]], "int32")  # batch 1, one row of five tokens
layer = keras.layers.CategoryEncoding(num_tokens=3, output_mode="count")
promised = layer.compute_output_shape(x.shape)
y = keras.ops.convert_to_numpy(layer(x))
print("compute_output_shape says", promised)
print("the output is of shape   ", y.shape)
raise SystemExit(0 if tuple(y.shape) == tuple(promised) else 1)
