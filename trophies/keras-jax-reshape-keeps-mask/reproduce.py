import os
import warnings

warnings.simplefilter("ignore")  # the very warning that says the mask is gone
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

x = np.array([[[2.0], [0.0]]], "float32")
hidden = keras.layers.Masking()(x)
observed = float(keras.layers.GlobalAveragePooling1D()(keras.layers.Reshape((2, 1))(hidden))[0, 0])
print("expected", 1.0, "observed", observed)
raise SystemExit(0 if observed == 1.0 else 1)
