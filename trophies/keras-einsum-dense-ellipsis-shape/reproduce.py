import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

x = keras.Input((3, 2, 5))
y = keras.layers.EinsumDense("...x,xy->...y", output_shape=4)(x)
given = keras.Model(x, y)(np.ones((1, 3, 2, 5), "float32")).shape
print("expected (None, 3, 2, 4) to be announced and", tuple(given), "to be given")
print("observed", y.shape)
raise SystemExit(0 if y.shape[1:] == tuple(given)[1:] else 1)
