"""keras.layers.BatchNormalization is wrong on keras:tensorflow. Exits 1 while it is so, 0 once it is fixed."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

x = np.array([[[-1], [-3]]], "float32")
batchnormalization_1 = keras.layers.BatchNormalization()
i0 = keras.Input((2, 1), dtype="float32")
model = keras.Model(i0, batchnormalization_1(i0))
batchnormalization_1.set_weights([np.array([1], "float32"), np.array([0], "float32"), np.array([0], "float32"), np.array([1], "float32")])
observed = keras.ops.convert_to_numpy(model(x, training=True))
# expected by the float64 reference
expected = np.array([[[0.999500375], [-0.999500375]]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=1.1e-05, equal_nan=True) else 1)
