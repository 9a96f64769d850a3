"""Pooling as ONNX operators: in windows, into a given number of bins, and over everything."""

from __future__ import annotations

from functools import partial

from ...operators.arguments import flag, sizes
from ...operators.layers.spatial import read_window, spatial_axes
from .onnx_convolution import spatial_sizes, window_attributes
from .onnx_graph import Lowering, OnnxCall
from .onnx_layout import from_first, to_first
from .protobuf import Attribute

_REDUCING = {"AveragePool": "ReduceMean", "MaxPool": "ReduceMax"}

#: From where on, and up to where.
Bins = list[tuple[int, int]]


def _pooling(call: OnnxCall, *, op: str, dims: int, **attributes: Attribute) -> str:
    window = read_window(call.params, "pool_size", dilated=False, dims=dims)
    more = window_attributes(window, spatial_sizes(call, dims))
    return from_first(call, call.emit(op, to_first(call, call.x, dims), **more, **attributes), dims)


def _global(call: OnnxCall, *, op: str, dims: int) -> str:
    pooled = call.emit(op, to_first(call, call.x, dims))
    if flag(call.params, "keepdims"):
        return from_first(call, pooled, dims)
    return call.emit("Flatten", pooled, axis=1)


def _over_time(call: OnnxCall, *, op: str) -> str:
    axis = 2 if call.params["data_format"] == "channels_first" else 1
    return call.emit(op, call.x, call.sizes([axis]), keepdims=int(flag(call.params, "keepdims")))


def _bins(size: int, count: int) -> Bins:
    return [(index * size // count, -(-(index + 1) * size // count)) for index in range(count)]


def _step(bins: Bins) -> int | None:
    """From one bin to the next, where all are equally long and equally far apart."""
    steps = {after[0] - before[0] for before, after in zip(bins, bins[1:], strict=False)} or {1}
    lengths = {end - start for start, end in bins}
    return steps.pop() if len(steps) == 1 and len(lengths) == 1 else None


def _adaptive(call: OnnxCall, *, op: str, dims: int) -> str:
    """One pooling where the bins are windows; else axis by axis, bin by bin."""
    counts = sizes(call.params, "output_size", dims)
    bins = [_bins(size, count) for size, count in zip(spatial_sizes(call, dims), counts, strict=True)]
    steps = [step for step in map(_step, bins) if step is not None]
    if len(steps) == dims:
        lengths = tuple(end - start for (start, end), *_ in bins)
        pooled = call.emit(op, to_first(call, call.x, dims), kernel_shape=lengths, strides=tuple(steps))
        return from_first(call, pooled, dims)
    x = call.x
    for axis, own in zip(spatial_axes(call.params, dims), bins, strict=True):
        parts = [
            call.emit("Slice", x, call.sizes([start]), call.sizes([end]), call.sizes([axis])) for start, end in own
        ]
        reduced = [call.emit(_REDUCING[op], part, call.sizes([axis]), keepdims=1) for part in parts]
        x = call.emit("Concat", *reduced, axis=axis)
    return x


_DIMS = (1, 2, 3)
POOLING_LAYERS: dict[str, Lowering] = {
    **{f"AdaptiveAveragePooling{dims}D": partial(_adaptive, op="AveragePool", dims=dims) for dims in _DIMS},
    **{f"AdaptiveMaxPooling{dims}D": partial(_adaptive, op="MaxPool", dims=dims) for dims in _DIMS},
    **{f"AveragePooling{dims}D": partial(_pooling, op="AveragePool", dims=dims, count_include_pad=0) for dims in _DIMS},
    **{f"GlobalAveragePooling{dims}D": partial(_global, op="GlobalAveragePool", dims=dims) for dims in (2, 3)},
    **{f"GlobalMaxPooling{dims}D": partial(_global, op="GlobalMaxPool", dims=dims) for dims in (2, 3)},
    **{f"MaxPooling{dims}D": partial(_pooling, op="MaxPool", dims=dims) for dims in _DIMS},
    "GlobalAveragePooling1D": partial(_over_time, op="ReduceMean"),
    "GlobalMaxPooling1D": partial(_over_time, op="ReduceMax"),
}
