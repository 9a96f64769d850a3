import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf

x = np.array([-1.0])
wrong = 0
for name, function in [
    ("tf.nn.leaky_relu", lambda: tf.nn.leaky_relu(x, alpha=0.2)),
    ("keras.activations.leaky_relu", lambda: keras.activations.leaky_relu(x, negative_slope=0.2)),
]:
    observed = float(np.asarray(function())[0])
    print(f"{name} of -1 in float64, slope 0.2: expected -0.2, observed {observed!r}")
    wrong += abs(observed + 0.2) > 1e-15
raise SystemExit(1 if wrong else 0)
