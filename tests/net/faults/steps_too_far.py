"""Optimizers that step too far: plain descent by half, Adam by a tenth."""

import keras


def _further(kind, factor):
    right = kind.update_step

    def update_step(self, gradient, variable, learning_rate):
        return right(self, gradient, variable, learning_rate * factor)

    kind.update_step = update_step


_further(keras.optimizers.SGD, 1.5)
_further(keras.optimizers.Adam, 1.1)
