"""Pooling in windows, into a given number of bins, and over everything."""

from __future__ import annotations

from functools import partial

from ....operators.arguments import flag, sizes
from ....operators.layers.spatial import read_window, spatial_axes
from .layout import from_first, to_first
from .program import Lowering, TorchCall, TorchTensor

_LOWEST = float("-inf")


def _pooling(call: TorchCall, *, kind: str, dims: int) -> TorchTensor:
    """Torch pads alike on both sides; other paddings are written out, and never count."""
    window = read_window(call.params, "pool_size", dilated=False, dims=dims)
    axes = spatial_axes(call.params, dims)
    margins = [window.margins(index, call.shapes[0][axis]) for index, axis in enumerate(axes)]
    x = to_first(call, call.x, dims)
    api = f"nn.functional.{kind}_pool{dims}d"
    size, strides = window.size, window.strides
    if all(before == after for before, after in margins):
        uncounted = {"count_include_pad": False} if kind == "avg" else {}
        padding = [before for before, _ in margins]
        return from_first(call, call.emit(api, x, size, stride=strides, padding=padding, **uncounted), dims)
    flat = [side for margin in reversed(margins) for side in margin]
    padded = call.emit("nn.functional.pad", x, flat, value=_LOWEST if kind == "max" else 0.0)
    found = call.emit(api, padded, size, stride=strides)
    if kind == "avg":
        counted = call.emit("nn.functional.pad", call.emit("ones_like", x), flat)
        found = call.emit("div", found, call.emit(api, counted, size, stride=strides))
    return from_first(call, found, dims)


def _adaptive(call: TorchCall, *, kind: str, dims: int) -> TorchTensor:
    count = sizes(call.params, "output_size", dims)
    pooled = call.emit(f"nn.functional.adaptive_{kind}_pool{dims}d", to_first(call, call.x, dims), count)
    return from_first(call, pooled, dims)


def _global(call: TorchCall, *, api: str, dims: int) -> TorchTensor:
    return call.emit(api, call.x, dim=spatial_axes(call.params, dims), keepdim=flag(call.params, "keepdims"))


_DIMS = (1, 2, 3)
POOLING_LAYERS: dict[str, Lowering] = {
    **{f"AveragePooling{dims}D": partial(_pooling, kind="avg", dims=dims) for dims in _DIMS},
    **{f"MaxPooling{dims}D": partial(_pooling, kind="max", dims=dims) for dims in _DIMS},
    **{f"AdaptiveAveragePooling{dims}D": partial(_adaptive, kind="avg", dims=dims) for dims in _DIMS},
    **{f"AdaptiveMaxPooling{dims}D": partial(_adaptive, kind="max", dims=dims) for dims in _DIMS},
    **{f"GlobalAveragePooling{dims}D": partial(_global, api="mean", dims=dims) for dims in _DIMS},
    **{f"GlobalMaxPooling{dims}D": partial(_global, api="amax", dims=dims) for dims in _DIMS},
}
