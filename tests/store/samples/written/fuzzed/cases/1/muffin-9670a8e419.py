"""keras.layers.BatchNormalization is wrong on keras:tensorflow. Exits 1 while it is so, 0 once it is fixed."""

import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

x = np.array([[[[[1], [2]]]]], "float32")
batchnormalization_1 = keras.layers.BatchNormalization(epsilon=1.0)
i0 = keras.Input((1, 1, 2, 1), dtype="float32")
model = keras.Model(i0, batchnormalization_1(i0))
batchnormalization_1.set_weights([np.array([1], "float32"), np.array([0], "float32"), np.array([0], "float32"), np.array([1], "float32")])
observed = keras.ops.convert_to_numpy(model(x, training=True))
# expected by the float64 reference
expected = np.array([[[[[-0.447213595], [0.447213595]]]]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=4.4e-06, equal_nan=True) else 1)
