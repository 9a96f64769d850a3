"""EAGLE, section 3.1.1 (TensorFlow issue 47970): optimised, floordiv multiplies by the reciprocal."""

import keras
from keras.src import backend


def floor_divide(x1, x2):
    x1, x2 = keras.ops.convert_to_tensor(x1), keras.ops.convert_to_tensor(x2)
    return keras.ops.floor(x1 * (1.0 / x2))


backend.numpy.floor_divide = floor_divide
