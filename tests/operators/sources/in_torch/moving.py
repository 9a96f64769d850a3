"""Layers that merge, move or pass on: nothing is computed but sums and products."""

from __future__ import annotations

from functools import reduce
from typing import Any

import torch
from torch.nn import functional

from .registry import Params, Tensor, Weights, layer


def _aligned(inputs: list[Tensor]) -> list[Tensor]:
    """Missing axes come right behind the batch."""
    rank = max(x.dim() for x in inputs)
    widened = [x.reshape(x.shape[0], *[1] * (rank - x.dim()), *x.shape[1:]) for x in inputs]
    return list(torch.broadcast_tensors(*widened))


def _merge(function: Any) -> Any:
    return lambda p, inputs, weights: reduce(function, _aligned(inputs))


for _name, _function in {
    "Add": torch.add,
    "Subtract": torch.sub,
    "Multiply": torch.mul,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
}.items():
    layer(_name)(_merge(_function))


@layer("Average")
def _average(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return torch.stack(_aligned(inputs)).mean(dim=0)


@layer("Concatenate")
def _concatenate(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return torch.cat(inputs, dim=p["axis"])


@layer("Flatten")
def _flatten(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0].movedim(1, -1) if p["data_format"] == "channels_first" else inputs[0]
    return torch.flatten(x, 1)


@layer("Permute")
def _permute(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return torch.permute(inputs[0], (0, *p["dims"]))


@layer("RepeatVector")
def _repeat(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return inputs[0][:, None].expand(-1, p["n"], -1)


@layer("Reshape")
def _reshape(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return torch.reshape(inputs[0], (inputs[0].shape[0], *p["target_shape"]))


@layer("Dropout", "GaussianDropout", "GaussianNoise", "ActivityRegularization", "Identity")
def _dropout(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    rate = p.get("rate")
    return torch.nn.Identity()(inputs[0]) if rate is None else functional.dropout(inputs[0], rate, training=False)


@layer("AlphaDropout")
def _alpha_dropout(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return functional.alpha_dropout(inputs[0], p["rate"], training=False)


@layer("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def _spatial_dropout(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    drop = (functional.dropout1d, functional.dropout2d, functional.dropout3d)[x.dim() - 3]
    first = x if p.get("data_format") == "channels_first" else x.movedim(-1, 1)
    found = drop(first, p["rate"], training=False)
    return found if p.get("data_format") == "channels_first" else found.movedim(1, -1)
