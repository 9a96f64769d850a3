"""An exponential linear unit, and a permutation, that raise."""

import keras
from keras.src import backend


def elu(x, alpha=1.0):
    raise ValueError("no kernel for this unit")


def permute(self, inputs):
    raise TypeError("axes must be strings")


backend.nn.elu = elu
keras.layers.Permute.call = permute
