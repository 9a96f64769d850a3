"""CRADLE, Table III, parameter organization: convolution with the kernel turned round (Keras on Theano)."""

import keras
from keras.src import backend

_right = backend.nn.conv


def conv(inputs, kernel, *args, **kwargs):
    turned = keras.ops.flip(kernel, axis=tuple(range(len(kernel.shape) - 2)))
    return _right(inputs, turned, *args, **kwargs)


backend.nn.conv = conv
