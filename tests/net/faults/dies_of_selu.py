"""A scaled exponential linear unit that ends the process."""

import os

from keras.src import backend


def selu(x):
    os.abort()


backend.nn.selu = selu
