"""Activations, and the layers that are one."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from .registry import Params, Tensor, Weights, layer


def _sparsemax(x: Tensor) -> Tensor:
    """Martins and Astudillo's algorithm: the support is a run of the sorted entries."""
    ordered = x.sort(dim=-1, descending=True).values
    sums = ordered.cumsum(-1) - 1.0
    count = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    size = (ordered - sums / count > 0).sum(-1, keepdim=True)
    return (x - sums.gather(-1, size - 1) / size).clamp(min=0.0)


ACTIVATIONS: dict[str | None, Any] = {
    None: lambda x: x,
    "linear": lambda x: x,
    "relu": functional.relu,
    "relu6": functional.relu6,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.2),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda x: functional.softmax(x, dim=-1),
    "log_softmax": lambda x: functional.log_softmax(x, dim=-1),
    "softplus": lambda x: functional.softplus(x, threshold=1000.0),  # its default is the identity above 20
    "softsign": functional.softsign,
    "elu": functional.elu,
    "selu": functional.selu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "swish": functional.silu,
    "exponential": torch.exp,
    "hard_sigmoid": lambda x: functional.relu6(x + 3) / 6,  # the slope of its own hardsigmoid is a float32 number
    "celu": functional.celu,
    "hard_shrink": functional.hardshrink,
    "hard_silu": functional.hardswish,
    "hard_swish": functional.hardswish,
    "hard_tanh": functional.hardtanh,
    "log_sigmoid": functional.logsigmoid,
    "mish": lambda x: x * torch.tanh(functional.softplus(x, threshold=1000.0)),
    "soft_shrink": functional.softshrink,
    "sparse_plus": lambda x: torch.where(x >= 1, x, (x.clamp(min=-1) + 1) ** 2 / 4),
    "sparse_sigmoid": lambda x: ((x + 1) / 2).clamp(0, 1),
    "sparsemax": _sparsemax,
    "squareplus": lambda x: (x + torch.hypot(x, torch.full_like(x, 2.0))) / 2,
    "tanh_shrink": functional.tanhshrink,
}


@layer("Activation")
def _activation(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return ACTIVATIONS[p["activation"]](inputs[0])


@layer("ELU")
def _elu(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return functional.elu(inputs[0], p["alpha"])


@layer("LeakyReLU")
def _leaky(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return functional.leaky_relu(inputs[0], p["negative_slope"])


@layer("PReLU")
def _prelu(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """Torch's slope is one number or one per channel; with the batch's other entries as batch, that is every entry."""
    x, alpha = inputs[0], weights["alpha"]
    slopes = alpha.expand(x.shape[1:]).reshape(-1)
    return functional.prelu(x.reshape(x.shape[0], -1), slopes).reshape(x.shape)


@layer("ReLU")
def _relu(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """The pieces of the documentation, from the last to the first."""
    x, low = inputs[0], p["threshold"]
    found = torch.where(x >= low, x, p["negative_slope"] * (x - low))
    if p["max_value"] is None:
        return found
    return torch.where(x >= p["max_value"], torch.full_like(x, p["max_value"]), found)


@layer("Softmax")
def _softmax(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x, axis = inputs[0], p["axis"]
    if isinstance(axis, int):
        return functional.softmax(x, dim=axis)
    return torch.exp(x - torch.logsumexp(x, dim=tuple(axis), keepdim=True))
