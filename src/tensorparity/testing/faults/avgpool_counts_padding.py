"""CRADLE, Figure 6: average pooling with ``same`` padding counts the padding (Keras 2.1.4 on Theano)."""

import keras
from keras.src import backend

_right = backend.nn.average_pool


def _pair(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def average_pool(inputs, pool_size, strides, padding="valid", data_format=None):
    rank = len(inputs.shape) - 2
    pool_size, strides = _pair(pool_size, rank), _pair(strides or pool_size, rank)
    if padding.lower() != "same":
        return _right(inputs, pool_size, strides, padding, data_format)
    first = 2 if backend.standardize_data_format(data_format) == "channels_first" else 1
    pads = [(0, 0)] * len(inputs.shape)
    for axis in range(rank):
        size = inputs.shape[first + axis]
        total = max((-(-size // strides[axis]) - 1) * strides[axis] + pool_size[axis] - size, 0)
        pads[first + axis] = (total // 2, total - total // 2)
    padded = keras.ops.pad(inputs, pads)
    return _right(padded, pool_size, strides, "valid", data_format)


backend.nn.average_pool = average_pool
