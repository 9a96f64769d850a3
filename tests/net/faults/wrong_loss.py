"""Losses and metrics that are wrong by a little: mean squared errors, Huber's loss, categorical accuracy."""

import keras

_squared = keras.losses.MeanSquaredError.call
_huber = keras.losses.Huber.call
_absolute = keras.losses.MeanAbsoluteError.call


def squared(self, y_true, y_pred):
    return _squared(self, y_true, y_pred) * 1.01


def huber(self, y_true, y_pred):
    return _huber(self, y_true, y_pred) + 0.5


def absolute(self, y_true, y_pred):
    return _absolute(self, y_true, y_pred) * 0.5


keras.losses.MeanSquaredError.call = squared
keras.losses.Huber.call = huber
keras.losses.MeanAbsoluteError.call = absolute
