"""Between Keras' data formats and torch's, which has channels first."""

from __future__ import annotations

from ....operators.arguments import channels_first
from .program import TorchCall, TorchTensor, inverse


def to_first(call: TorchCall, x: TorchTensor, dims: int) -> TorchTensor:
    return x if channels_first(call.params) else call.permute(x, _order(dims))


def from_first(call: TorchCall, x: TorchTensor, dims: int) -> TorchTensor:
    return x if channels_first(call.params) else call.permute(x, inverse(_order(dims)))


def _order(dims: int) -> list[int]:
    return [0, dims + 1, *range(1, dims + 1)]
