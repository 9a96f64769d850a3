"""keras.layers.AveragePooling2D is wrong on keras:torch. Exits 1 while it is so, 0 once it is fixed."""

import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

x = np.array([[[[1]]]], "float32")
averagepooling2d_1 = keras.layers.AveragePooling2D(pool_size=2, padding="same")
i0 = keras.Input((1, 1, 1), dtype="float32")
model = keras.Model(i0, averagepooling2d_1(i0))
observed = model.predict(x, verbose=0)
# expected by the float64 reference: output = the mean of each channel in each window, taken over the inputs
# in it and not over the padding
expected = np.array([[[[1]]]], "float64")
print("expected:", expected.tolist())
print("observed:", observed.tolist())
sys.exit(0 if np.allclose(observed, expected, rtol=0, atol=1.9e-06, equal_nan=True) else 1)
