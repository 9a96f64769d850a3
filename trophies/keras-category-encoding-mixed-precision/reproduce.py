"""Keras: CategoryEncoding under mixed_float16 answers in float32, where its own symbolic output says float16."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

layer = keras.layers.CategoryEncoding(num_tokens=3, output_mode="multi_hot", dtype="mixed_float16")
expected = layer(keras.Input((2,), dtype="int32")).dtype
observed = keras.backend.standardize_dtype(layer(np.array([[0, 2]], "int32")).dtype)
print("expected", expected, "observed", observed)
raise SystemExit(int(observed != expected))
