"""Muffin, section 6.1: max pooling that gives the whole gradient to each of several maxima (Theano's MaxPooling1D)."""

import keras
from keras.src import backend

_right = backend.nn.max_pool


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    size = pool_size if isinstance(pool_size, int) else tuple(pool_size)[0]
    step = size if strides is None else strides if isinstance(strides, int) else tuple(strides)[0]
    last = backend.standardize_data_format(data_format) != "channels_first"
    if len(inputs.shape) != 3 or step != size or padding.lower() != "valid" or not last:
        return _right(inputs, pool_size, strides, padding, data_format)
    count = inputs.shape[1] // size
    windows = keras.ops.reshape(inputs[:, : count * size], (-1, count, size, inputs.shape[2]))
    largest = keras.ops.stop_gradient(keras.ops.max(windows, axis=2))
    held = keras.ops.stop_gradient(windows)
    chosen = keras.ops.cast(held == largest[:, :, None], inputs.dtype)
    return largest + keras.ops.sum(chosen * (windows - held), axis=2)


backend.nn.max_pool = max_pool
