"""The table of this library's layers, and its types."""

from __future__ import annotations

import torch

from ..registry import Params, Registry, below, over_axes, sizes

Tensor = torch.Tensor
Weights = dict[str, Tensor]
_TABLE = Registry()
LAYERS = _TABLE.layers
layer = _TABLE.layer

__all__ = ["LAYERS", "Params", "Tensor", "Weights", "below", "layer", "over_axes", "sizes"]
