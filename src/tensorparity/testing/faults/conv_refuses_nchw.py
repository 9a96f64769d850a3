"""A convolution that documents channels first and refuses it.

Source: Zhang et al., Predoo, ISSTA 2021, section 4.4: conv2d throws UnimplementedError or InvalidArgumentError on
input that was transposed to NCHW.
"""


class UnimplementedError(Exception):
    """As TensorFlow names it."""


def _refusing(function, is_first):
    def wrapped(*args, **kwargs):
        if is_first(args, kwargs):
            raise UnimplementedError("The Conv2D op currently only supports the NHWC tensor format")
        return function(*args, **kwargs)

    return wrapped


def _plant():
    if TARGET.startswith("jax"):  # noqa: F821 (given by the worker)
        import jax.lax

        def is_first(args, kwargs):
            return kwargs["dimension_numbers"][0].startswith("NC")

        jax.lax.conv_general_dilated = _refusing(jax.lax.conv_general_dilated, is_first)
    elif TARGET.startswith("torch"):  # noqa: F821
        import torch

        def is_first(args, kwargs):
            return args[0].is_contiguous()

        torch.nn.functional.conv2d = _refusing(torch.nn.functional.conv2d, is_first)
    else:
        import keras

        def is_first(args, kwargs):
            return kwargs.get("data_format") == "channels_first"

        keras.ops.conv = _refusing(keras.ops.conv, is_first)


_plant()
