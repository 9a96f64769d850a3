"""Keras on TensorFlow: an optimizer with loss_scale_factor cannot train a model that has an Embedding."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

model = keras.Sequential([keras.Input((2,), dtype="int32"), keras.layers.Embedding(4, 3), keras.layers.Flatten()])
model.compile(keras.optimizers.SGD(0.1, loss_scale_factor=2.0), "mse")
observed = "a loss"
try:
    model.train_on_batch(np.array([[0, 1]]), np.ones((1, 6)))
except TypeError as error:
    observed = str(error)
print("expected", "a loss", "observed", observed)
raise SystemExit(int(observed != "a loss"))
