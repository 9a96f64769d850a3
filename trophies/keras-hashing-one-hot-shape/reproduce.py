import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

x = np.array([[3, 5, 9], [4, 4, -2]], "int32")
layer = keras.layers.Hashing(num_bins=5, output_mode="one_hot")
promised = layer.compute_output_shape(x.shape)
y = keras.ops.convert_to_numpy(layer(x))
print("compute_output_shape says", promised)
print("the output is of shape   ", y.shape)
raise SystemExit(0 if tuple(y.shape) == tuple(promised) else 1)
