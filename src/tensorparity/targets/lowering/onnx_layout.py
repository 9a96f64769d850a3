"""Between Keras' data formats and ONNX', which has channels first."""

from __future__ import annotations

from ...operators.arguments import channels_first
from .onnx_graph import OnnxCall, inverse
from .refusal import Sizes


def to_first(call: OnnxCall, x: str, dims: int) -> str:
    return x if channels_first(call.params) else call.transpose(x, _order(dims))


def from_first(call: OnnxCall, x: str, dims: int) -> str:
    return x if channels_first(call.params) else call.transpose(x, inverse(_order(dims)))


def _order(dims: int) -> Sizes:
    return (0, dims + 1, *range(1, dims + 1))
