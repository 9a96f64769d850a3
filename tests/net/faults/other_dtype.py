"""Softplus and softsign that answer in another precision than they are asked in."""

import keras
from keras.src import backend


def _changed(right):
    return lambda x: keras.ops.cast(right(x), "float64")


backend.nn.softplus = _changed(backend.nn.softplus)
backend.nn.softsign = _changed(backend.nn.softsign)
