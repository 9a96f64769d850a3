"""Layers that give one more than was asked for: a repetition, a row of padding."""

import keras

_repeat = keras.layers.RepeatVector.call
_pad = keras.layers.ZeroPadding1D.call


def repeat(self, inputs):
    right = _repeat(self, inputs)
    return keras.ops.concatenate([right, right[:, :1]], axis=1)


def pad(self, inputs):
    right = _pad(self, inputs)
    return keras.ops.concatenate([right, right[:, :1]], axis=1)


keras.layers.RepeatVector.call = repeat
keras.layers.ZeroPadding1D.call = pad
