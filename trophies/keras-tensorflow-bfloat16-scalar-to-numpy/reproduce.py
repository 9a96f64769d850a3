"""Keras on TensorFlow: convert_to_numpy of a bfloat16 tensor without axes raises."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras

observed = "an array"
try:
    keras.ops.convert_to_numpy(keras.ops.ones((), "bfloat16"))
except ValueError as error:
    observed = str(error)
print("expected", "an array", "observed", observed)
raise SystemExit(int(observed != "an array"))
