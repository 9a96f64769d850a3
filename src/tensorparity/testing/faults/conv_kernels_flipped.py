"""CRADLE, Table III (parameter organization): convolution with its kernels turned around, as Theano defines it."""

import keras
from keras.src import backend

_conv = backend.nn.conv


def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    rank = len(inputs.shape) - 2
    kernel = keras.ops.flip(kernel, axis=tuple(range(rank)))
    return _conv(inputs, kernel, strides, padding, data_format, dilation_rate)


backend.nn.conv = conv
