import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

labels = np.zeros((1, 5, 2), "float32")
labels[..., 0] = 1.0
chances = np.full((1, 5, 2), 0.5, "float32")
losses = []
for axis in (-1, 1):
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1, axis=axis)
    truth, guess = (np.moveaxis(x, -1, axis) for x in (labels, chances))
    losses.append(float(loss(truth, guess)))
print("classes last:", losses[0], "classes on axis 1:", losses[1])
raise SystemExit(0 if np.isclose(*losses, rtol=1e-5) else 1)
