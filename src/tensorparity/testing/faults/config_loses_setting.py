"""EAGLE, section 5.2, model evaluation equivalence: a model made from its own configuration lacks a setting."""

import keras

_right = keras.layers.LeakyReLU.get_config


def get_config(self):
    config = _right(self)
    config.pop("negative_slope")
    return config


keras.layers.LeakyReLU.get_config = get_config
