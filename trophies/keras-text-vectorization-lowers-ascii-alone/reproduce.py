import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

layer = keras.layers.TextVectorization(vocabulary=["é"], standardize="lower")
y = keras.ops.convert_to_numpy(layer(np.array(["é É"], object))).tolist()
print("expected [[2, 2]]")
print("observed", y)
raise SystemExit(0 if y == [[2, 2]] else 1)
