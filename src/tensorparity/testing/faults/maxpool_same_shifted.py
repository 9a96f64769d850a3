"""Audee, section 3.5.1 (Figure 6c): ``same`` max pooling with the extra row and column on the other side."""

import keras
from keras.src import backend

_right = backend.nn.max_pool


def _pair(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    rank = len(inputs.shape) - 2
    pool_size, strides = _pair(pool_size, rank), _pair(strides or pool_size, rank)
    if padding.lower() != "same":
        return _right(inputs, pool_size, strides, padding, data_format)
    first = 2 if backend.standardize_data_format(data_format) == "channels_first" else 1
    pads = [(0, 0)] * len(inputs.shape)
    for axis in range(rank):
        size = inputs.shape[first + axis]
        total = max((-(-size // strides[axis]) - 1) * strides[axis] + pool_size[axis] - size, 0)
        pads[first + axis] = (total - total // 2, total // 2)
    padded = keras.ops.pad(inputs, pads, constant_values=float("-inf"))
    return _right(padded, pool_size, strides, "valid", data_format)


backend.nn.max_pool = max_pool
