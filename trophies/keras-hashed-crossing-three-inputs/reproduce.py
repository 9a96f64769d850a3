import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

layer = keras.layers.HashedCrossing(num_bins=5)
x = [np.array([[3], [4]], "int32"), np.array([[5], [4]], "int32"), np.array([[1], [2]], "int32")]
print("three arrays:", keras.ops.convert_to_numpy(layer(x)).tolist())
try:
    keras.Model(inputs := [keras.Input((1,), dtype="int32") for _ in x], layer(inputs))
except ValueError as error:
    said = next(line for line in str(error).splitlines() if "Expected" in line)
    print("three inputs of a model:", said.strip())
    raise SystemExit(1) from None
raise SystemExit(0)
