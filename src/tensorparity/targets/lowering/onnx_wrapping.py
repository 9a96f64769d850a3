"""Layers around layers as ONNX operators: both ways along time, on every step, and with a rescaled kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from ...operators.arguments import flag, positive
from ...operators.layers.nested import Nested, nested_layer
from ...operators.layers.wrapping import WITH_KERNEL, stepwise, ways
from .onnx_graph import Lowering, OnnxCall
from .onnx_recurrent import KINDS, Way, below, check_silent, run_sequence
from .refusal import Refusal, Sizes

Table = Mapping[str, Lowering]


def _inside(table: Table, call: OnnxCall, inner: Nested, x: str, shape: Sizes) -> list[str]:
    if inner.spec.name not in table:
        raise Refusal(f"layer {inner.spec.name} inside of {call.op} has no ONNX counterpart here")
    found = table[inner.spec.name](call.inside(inner.spec, inner.params, inner.name, [x], [shape]))
    return [found] if isinstance(found, str) else list(found)


def _bidirectional(call: OnnxCall) -> list[str]:
    """One operator that goes both ways, with the kernels of both."""
    if call.params["backward_layer"] is not None:
        raise Refusal("a Bidirectional with a backward layer of its own has no ONNX counterpart here")
    ahead, back = ways(call.params)
    check_silent(call, ahead.params)
    kind = KINDS[ahead.spec.name]
    both = [Way(way.params, below(call.weights, f"{way.name}/{kind.cell}")) for way in (ahead, back)]
    every, *ends = run_sequence(call, kind, call.x, kind.cell, both)
    batch, steps, _ = call.shapes[0]
    units = positive(ahead.params, "units")
    # (way, batch, units)
    states = [[_one_way(call, end, 0, way, (batch, units)) for end in ends] for way in (0, 1)]
    if flag(ahead.params, "return_sequences"):  # (time, way, batch, units)
        parts = [call.transpose(_one_way(call, every, 1, way, (steps, batch, units)), (1, 0, 2)) for way in (0, 1)]
    else:
        parts = [call.emit("Identity", own[0]) for own in states]
    more = [state for own in states for state in own] if flag(ahead.params, "return_state") else []
    return [*_merged(call, *parts), *more]


def _one_way(call: OnnxCall, x: str, axis: int, way: int, shape: Sizes) -> str:
    part = call.emit("Slice", x, call.sizes([way]), call.sizes([way + 1]), call.sizes([axis]))
    return call.reshape(part, shape)


def _merged(call: OnnxCall, first: str, second: str) -> list[str]:
    mode = call.params["merge_mode"]
    if mode is None:
        return [first, second]
    if mode == "concat":
        return [call.emit("Concat", first, second, axis=-1)]
    return [call.emit({"mul": "Mul", "sum": "Add", "ave": "Mean"}[mode], first, second)]


def _time_distributed(table: Table, call: OnnxCall) -> str:
    shape = call.shapes[0]
    flat = (math.prod(shape[:2]), *shape[2:])
    inner = stepwise(call.params, shape)
    (found,) = _inside(table, call, inner, call.reshape(call.x, flat), flat)
    return call.reshape(found, call.shape)


def _spectral(table: Table, call: OnnxCall) -> list[str]:
    return _inside(table, call, nested_layer(call.params, "layer", WITH_KERNEL), call.x, call.shapes[0])


def wrapping_layers(table: Table) -> dict[str, Lowering]:
    """The wrappers; ``table`` has the layers they may wrap."""
    return {
        "Bidirectional": _bidirectional,
        "SpectralNormalization": partial(_spectral, table),
        "TimeDistributed": partial(_time_distributed, table),
    }
