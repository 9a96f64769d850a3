"""Audee, Figure 6a: depthwise convolution that sees the first channel only, where padding is asymmetric (CNTK, MKL)."""

import keras
from keras.src import backend

_right = backend.nn.depthwise_conv


def _spread(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _is_asymmetric(inputs, kernel, strides, first, rates):
    for axis, (step, rate) in enumerate(zip(strides, rates, strict=True)):
        size = inputs.shape[first + axis]
        reach = (kernel.shape[axis] - 1) * rate + 1
        if max((-(-size // step) - 1) * step + reach - size, 0) % 2:
            return True
    return False


def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    rank = len(inputs.shape) - 2
    last = backend.standardize_data_format(data_format) != "channels_first"
    steps, rates = _spread(strides, rank), _spread(dilation_rate, rank)
    if padding.lower() == "same" and _is_asymmetric(inputs, kernel, steps, 1 if last else 2, rates):
        axis = -1 if last else 1
        channels = inputs.shape[axis]
        inputs = keras.ops.repeat(keras.ops.take(inputs, [0], axis=axis), channels, axis=axis)
    return _right(inputs, kernel, strides, padding, data_format, dilation_rate)


backend.nn.depthwise_conv = depthwise_conv
