import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

x = np.ones((1, 1, 1), "float32")
layer = keras.layers.SimpleRNN(3, activation=None, kernel_initializer="ones", activity_regularizer="l2")
y = keras.ops.convert_to_numpy(layer(x))
added = sum(float(keras.ops.convert_to_numpy(loss)) for loss in layer.losses)
print("expected", 0.01 * float(np.square(y).sum()))
print("observed", added)
raise SystemExit(0 if added > 0 else 1)
