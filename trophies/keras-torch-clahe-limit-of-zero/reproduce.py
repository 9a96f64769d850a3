import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

image = (127 + np.arange(16) % 8).reshape(1, 4, 4, 1).astype("float32")
layer = keras.layers.ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(1, 1))
found = keras.ops.convert_to_numpy(layer(image))
print("in: ", image.min(), "to", image.max())
print("out:", found.min(), "to", found.max())
raise SystemExit(0 if np.ptp(found) > 2 * np.ptp(image) else 1)
