"""The square root by too few of Newton's steps: they do not converge far from one.

Source: Zhang et al., Predoo, ISSTA 2021, section 5: developers reduced the iterations of Newton's method for speed.
"""

_STEPS = 4


def _newton(x):
    guess = (x + 1) / 2
    for _ in range(_STEPS):
        guess = (guess + x / guess) / 2
    return guess


def _plant():
    if TARGET.startswith("torch"):  # noqa: F821 (given by the worker)
        import torch

        torch.sqrt = _newton
    elif TARGET.startswith("tensorflow"):  # noqa: F821
        import tensorflow

        tensorflow.math.sqrt = _newton
    elif TARGET.startswith("jax"):  # noqa: F821
        import jax.numpy

        jax.numpy.sqrt = _newton
    else:
        import keras

        keras.ops.sqrt = _newton


_plant()
