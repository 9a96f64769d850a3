import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

layer = keras.layers.TextVectorization(vocabulary=["a", "b"], split=None, output_mode="count")
y = keras.ops.convert_to_numpy(layer(np.array(["a", "b"], object)))
print("expected [[0, 1, 0], [0, 0, 1]], of the announced shape", layer.compute_output_shape((2,)))
print("observed", y.tolist())
raise SystemExit(0 if y.tolist() == [[0, 1, 0], [0, 0, 1]] else 1)
