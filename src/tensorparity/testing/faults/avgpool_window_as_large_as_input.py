"""Muffin, section 5.1, FC bugs: ``same`` average pooling with a window as large as the input looks elsewhere."""

import keras
from keras.src import backend

_right = backend.nn.average_pool


def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    rank = len(inputs.shape) - 2
    first = 2 if backend.standardize_data_format(data_format) == "channels_first" else 1
    sizes = (pool_size,) * rank if isinstance(pool_size, int) else tuple(pool_size)
    if padding.lower() == "same" and sizes == tuple(inputs.shape[first : first + rank]):
        pads = [(0, 0)] * len(inputs.shape)
        inside = [slice(None)] * len(inputs.shape)
        for axis in range(first, first + rank):
            pads[axis] = (1, 0)
            inside[axis] = slice(0, inputs.shape[axis])
        inputs = keras.ops.pad(inputs, pads)[tuple(inside)]
    return _right(inputs, pool_size, strides, padding, data_format)


backend.nn.average_pool = average_pool
