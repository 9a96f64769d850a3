import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

frames = keras.Input((3, 6, 6, 1))  # three images in a row
features = keras.layers.TimeDistributed(keras.layers.Conv2D(2, 3))
masked = keras.layers.Masking()(keras.layers.Reshape((3, 36))(frames))
images = keras.layers.TimeDistributed(keras.layers.Reshape((6, 6, 1)))(masked)
print("expected an output of shape (1, 3, 4, 4, 2)")
try:
    model = keras.Model(frames, keras.layers.BatchNormalization()(features(images)))
    shape = model.predict(np.ones((1, 3, 6, 6, 1), "float32"), verbose=0).shape
except ValueError as error:
    print("observed", next(line for line in str(error).splitlines() if "mask" in line))
    raise SystemExit(1) from None
print("observed", shape)
raise SystemExit(0 if shape == (1, 3, 4, 4, 2) else 1)
