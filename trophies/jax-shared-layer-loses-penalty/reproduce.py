import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

x = np.ones((2, 1), "float32")
inputs = keras.Input((1,))
layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", activity_regularizer="l2")
model = keras.Model(inputs, layer(layer(inputs)))
model.compile(keras.optimizers.SGD(0.0), "mse")
model(x)
listed = sum(float(keras.ops.convert_to_numpy(loss)) for loss in model.losses)
loss = float(model.train_on_batch(x, x))  # the outputs are the labels, so it is the penalties alone
print("model.losses   ", listed)
print("train_on_batch ", loss)
raise SystemExit(0 if abs(loss - listed) < 1e-6 else 1)
