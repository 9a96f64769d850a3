"""Layers around layers: both ways along time, on every step, and with a rescaled kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from ....operators.arguments import flag
from ....operators.layers.nested import Nested, nested_layer
from ....operators.layers.wrapping import WITH_KERNEL, stepwise, ways
from ..refusal import Refusal, Sizes
from .program import Lowering, TorchCall, TorchTensor

Table = Mapping[str, Lowering]


def _inside(table: Table, call: TorchCall, inner: Nested, x: TorchTensor, shape: Sizes) -> list[TorchTensor]:
    if inner.spec.name not in table:
        raise Refusal(f"layer {inner.spec.name} inside of {call.op} has no counterpart in torch here")
    found = table[inner.spec.name](call.inside(inner.spec, inner.params, inner.name, [x], [shape]))
    return [found] if isinstance(found, TorchTensor) else list(found)


def _bidirectional(table: Table, call: TorchCall) -> list[TorchTensor]:
    ahead, back = ways(call.params)
    first, *states = _inside(table, call, ahead, call.x, call.shapes[0])
    second, *others = _inside(table, call, back, call.x, call.shapes[0])
    if flag(back.params, "return_sequences"):
        second = call.emit("flip", second, [1])  # back into the order of time
    return [*_merged(call, first, second), *states, *others]


def _merged(call: TorchCall, first: TorchTensor, second: TorchTensor) -> list[TorchTensor]:
    mode = call.params["merge_mode"]
    if mode is None:
        return [first, second]
    if mode == "concat":
        return [call.emit("cat", [first, second], dim=-1)]
    if mode == "mul":
        return [call.emit("mul", first, second)]
    both = call.add(first, second)
    return [call.emit("mul", both, 0.5) if mode == "ave" else both]


def _time_distributed(table: Table, call: TorchCall) -> TorchTensor:
    shape = call.shapes[0]
    flat = (math.prod(shape[:2]), *shape[2:])
    inner = stepwise(call.params, shape)
    (found,) = _inside(table, call, inner, call.reshape(call.x, flat), flat)
    return call.reshape(found, call.shape)


def _spectral(table: Table, call: TorchCall) -> list[TorchTensor]:
    if call.training:
        raise Refusal("SpectralNormalization changes its kernel in training, which has no counterpart in torch here")
    return _inside(table, call, nested_layer(call.params, "layer", WITH_KERNEL), call.x, call.shapes[0])


def wrapping_layers(table: Table) -> dict[str, Lowering]:
    """The wrappers; ``table`` has the layers they may wrap."""
    return {
        "Bidirectional": partial(_bidirectional, table),
        "SpectralNormalization": partial(_spectral, table),
        "TimeDistributed": partial(_time_distributed, table),
    }
