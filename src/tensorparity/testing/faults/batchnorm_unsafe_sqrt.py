"""Audee, section 3.5.2 and [47]: batch normalization takes a square root without looking at the sign of its argument.

Right wherever the variance is positive; a moving variance that rounding has taken below 0 makes NaN, though
variance + epsilon is positive.
"""

import keras
from keras.src import backend


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    shape = [1] * len(x.shape)
    shape[axis] = mean.shape[0]
    mean, variance = keras.ops.reshape(mean, shape), keras.ops.reshape(variance, shape)
    root = keras.ops.sqrt(variance)
    y = (x - mean) / root * keras.ops.sqrt(variance / (variance + epsilon))
    if scale is not None:
        y = y * keras.ops.reshape(scale, shape)
    if offset is not None:
        y = y + keras.ops.reshape(offset, shape)
    return y


backend.nn.batch_normalization = batch_normalization
