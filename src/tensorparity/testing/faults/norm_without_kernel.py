"""Batch normalization that finds no kernel to run on.

Source: Zhang et al., Predoo, ISSTA 2021, section 4.4: norm in TensorFlow 2.0.0 throws "Valid device NotFoundError".
"""


class NotFoundError(Exception):
    """As TensorFlow names it."""


def _missing(*args, **kwargs):
    raise NotFoundError("Could not find valid device for node")


def _plant():
    if TARGET.startswith("tensorflow"):  # noqa: F821 (given by the worker)
        import tensorflow

        tensorflow.nn.batch_normalization = _missing
    elif TARGET.startswith("torch"):  # noqa: F821
        import torch

        torch.nn.functional.batch_norm = _missing
    elif TARGET.startswith("jax"):  # noqa: F821
        import jax.nn

        jax.nn.standardize = _missing
    else:
        import keras

        keras.ops.batch_normalization = _missing


_plant()
