"""keras.ops.max_pool and average_pool with sizes in a list raise on the JAX backend."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

image = np.arange(72, dtype="float32").reshape(1, 6, 6, 2)
wrong = False
for pool in (keras.ops.max_pool, keras.ops.average_pool):
    expected = tuple(pool(image, (2, 2), (1, 1), data_format="channels_last").shape)
    for sizes, strides in (([2, 2], (1, 1)), ((2, 2), [1, 1])):
        try:
            observed = str(tuple(pool(image, sizes, strides, data_format="channels_last").shape))
        except TypeError as error:
            observed = str(error)
        print(pool.__name__, sizes, strides, "expected", expected, "observed", observed)
        wrong |= observed != str(expected)
raise SystemExit(int(wrong))
