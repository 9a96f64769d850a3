import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

layer = keras.layers.RandomCrop(height=4, width=3)
image = np.ones((2, 6, 5, 3), "float32")
expected, observed = layer.compute_output_shape(image.shape), tuple(layer(image, training=False).shape)
print("expected", expected, "observed", observed)
raise SystemExit(0 if observed == (2, 4, 3, 3) else 1)
