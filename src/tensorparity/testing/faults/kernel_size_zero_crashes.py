"""Audee, Figure 8: a convolution takes kernel_size=0 for a size, and dies of the division by it (TensorFlow)."""

import os
import signal

from keras.src.layers.convolutional import base_conv

_right = base_conv.standardize_tuple


class _Accepted(int):
    """A zero that passes for a size."""

    def __bool__(self):
        return True


def standardize_tuple(value, n, name, **kwargs):
    sizes = (value,) * n if isinstance(value, int) else tuple(value)
    if name == "kernel_size" and 0 in sizes:
        return tuple(_Accepted(size) for size in sizes)
    return _right(value, n, name, **kwargs)


def _dies(right):
    def call(self, *args, **kwargs):
        if 0 in self.kernel_size:
            os.kill(os.getpid(), signal.SIGFPE)
        return right(self, *args, **kwargs)

    return call


base_conv.standardize_tuple = standardize_tuple
base_conv.BaseConv.__call__ = _dies(base_conv.BaseConv.__call__)
