"""keras.ops.max_pool and average_pool with strides left out raise on the JAX backend."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

image = np.arange(72, dtype="float32").reshape(1, 6, 6, 2)
wrong = False
for pool in (keras.ops.max_pool, keras.ops.average_pool):
    expected = tuple(pool(image, pool_size=2, strides=2, data_format="channels_last").shape)
    try:
        observed = str(tuple(pool(image, pool_size=2, data_format="channels_last").shape))
    except TypeError as error:
        observed = str(error)
    print(pool.__name__, "expected", expected, "observed", observed)
    wrong |= observed != str(expected)
raise SystemExit(int(wrong))
