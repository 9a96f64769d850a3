"""Audee [49]: a convolution without a check for dilation_rate=0 (Theano)."""

from keras.src.layers.convolutional import base_conv

_right = base_conv.standardize_tuple


def standardize_tuple(value, n, name, **kwargs):
    sizes = (value,) * n if isinstance(value, int) else tuple(value)
    if name == "dilation_rate" and 0 in sizes:
        return tuple(max(size, 1) for size in sizes)
    return _right(value, n, name, **kwargs)


base_conv.standardize_tuple = standardize_tuple
