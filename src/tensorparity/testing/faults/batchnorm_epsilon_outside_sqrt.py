"""CRADLE, Figure 2: epsilon added to the square root instead of under it (Keras 2.2.0 on CNTK)."""

import keras
from keras.src import backend


def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    shape = [1] * len(x.shape)
    shape[axis] = mean.shape[0]
    mean, variance = keras.ops.reshape(mean, shape), keras.ops.reshape(variance, shape)
    y = (x - mean) / (keras.ops.sqrt(variance) + epsilon)
    if scale is not None:
        y = y * keras.ops.reshape(scale, shape)
    if offset is not None:
        y = y + keras.ops.reshape(offset, shape)
    return y


backend.nn.batch_normalization = batch_normalization
