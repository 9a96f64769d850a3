"""Four faults, for ``--fault keras:torch=FILE``: an argument ignored (searchsorted), a configuration that loses a
setting (AdditiveAttention), a gradient at ties (nanmax), and a symbolic dtype (bincount).
"""

import keras
import torch
from keras.src import backend

_search = backend.numpy.searchsorted


def searchsorted(sorted_sequence, values, side="left"):
    return _search(sorted_sequence, values, side="left")


backend.numpy.searchsorted = searchsorted

_config = keras.layers.AdditiveAttention.get_config


def get_config(self):
    config = _config(self)
    config.pop("use_scale", None)
    return config


keras.layers.AdditiveAttention.get_config = get_config


_nanmax = backend.numpy.nanmax


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        found = torch.amax(x)
        ctx.save_for_backward(x, found)
        return found

    @staticmethod
    def backward(ctx, g):
        x, found = ctx.saved_tensors
        return (x == found).to(g.dtype) * g


def nanmax(x, axis=None, keepdims=False):
    x = keras.ops.convert_to_tensor(x)
    if axis is None and not keepdims and x.is_floating_point() and x.numel() and not torch.isnan(x).any():
        return _Max.apply(x)
    return _nanmax(x, axis=axis, keepdims=keepdims)


backend.numpy.nanmax = nanmax

_spec = keras.src.ops.numpy.Bincount.compute_output_spec


def compute_output_spec(self, x):
    found = _spec(self, x)
    return keras.KerasTensor(found.shape, dtype="float64" if self.weights is None else found.dtype)


keras.src.ops.numpy.Bincount.compute_output_spec = compute_output_spec
