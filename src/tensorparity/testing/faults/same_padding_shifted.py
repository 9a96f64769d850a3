"""CRADLE, section V-A: ``same`` padding that puts the extra row and column on the other side."""

import keras
from keras.src import backend

_conv, _depthwise = backend.nn.conv, backend.nn.depthwise_conv


def _spread(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _shifted(right):
    def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
        if padding.lower() != "same":
            return right(inputs, kernel, strides, padding, data_format, dilation_rate)
        rank = len(inputs.shape) - 2
        first = 2 if backend.standardize_data_format(data_format) == "channels_first" else 1
        steps, rates = _spread(strides, rank), _spread(dilation_rate, rank)
        pads = [(0, 0)] * len(inputs.shape)
        for axis in range(rank):
            size = inputs.shape[first + axis]
            reach = (kernel.shape[axis] - 1) * rates[axis] + 1
            total = max((-(-size // steps[axis]) - 1) * steps[axis] + reach - size, 0)
            pads[first + axis] = (total - total // 2, total // 2)
        return right(keras.ops.pad(inputs, pads), kernel, strides, "valid", data_format, dilation_rate)

    return conv


backend.nn.conv = _shifted(_conv)
backend.nn.depthwise_conv = _shifted(_depthwise)
