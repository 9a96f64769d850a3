import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

labels = np.array([[0, 1, 1]])
chances = np.array([[[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]], "float32")  # batch, classes, positions
loss = keras.losses.SparseCategoricalCrossentropy(axis=1)
try:
    observed = float(loss(labels, chances))
except ValueError as error:
    print("expected", np.log(2), "observed", str(error).splitlines()[0])
    raise SystemExit(1) from None
print("expected", np.log(2), "observed", observed)
raise SystemExit(0 if np.isclose(observed, np.log(2), rtol=1e-4) else 1)
