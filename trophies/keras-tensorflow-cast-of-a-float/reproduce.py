"""Keras on TensorFlow: a Python float that is cast to float64 goes through float32."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

keras.config.set_floatx("float64")
layer = keras.layers.Rescaling(scale=0.1)
observed = float(keras.ops.convert_to_numpy(layer(np.ones((1, 1))))[0, 0])
print("expected", 0.1, "observed", observed)
raise SystemExit(int(abs(observed - 0.1) > 1e-12))
