"""Convolution and pooling in the words of each library: what the rules about windows have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case
from ...core.procedure import Goal, Procedure

#: Inputs of one configuration.
VALUES = 10
X, W = ArrayArg("x"), ArrayArg("w")


@dataclass(frozen=True)
class Window:
    """A function of a sliding window.

    Args:
        kind: ``conv`` (with a kernel for each pair of channels), ``depthwise``, ``max`` or ``average``.
        dims: spatial axes.
        names: its parameters in order.
        batched: strides and dilations are written for all axes (TensorFlow).
    """

    api: str
    kind: str
    dims: int
    names: tuple[str, ...]

    @property
    def weighted(self) -> bool:
        """Whether it has a kernel of weights."""
        return self.kind in ("conv", "depthwise")

    @property
    def library(self) -> str:
        return self.api.partition(".")[0]

    @property
    def channels_first(self) -> bool:
        return self.library in ("torch", "jax")

    def bound(self, call: ApiCall) -> dict[str, Any]:
        """The arguments by name."""
        return {**dict(zip(self.names, call.args, strict=False)), **call.kwargs}

    def spatial(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The spatial sizes of an input."""
        return tuple(shape[2:] if self.channels_first else shape[1:-1])

    def kernel(self, arrays: Mapping[str, Array], given: Mapping[str, Any], rows: bool) -> tuple[int, ...]:
        """The size of the window."""
        if self.kind in ("max", "average"):
            return self.each(given.get("kernel_size", given.get("ksize", given.get("pool_size"))))
        weight = given.get("weight", given.get("filters", given.get("filter", given.get("rhs", given.get("kernel")))))
        shape = arrays[weight.name].shape[1:] if rows else arrays[weight.name].shape
        return tuple(shape[2:] if self.channels_first else shape[:-2])

    def each(self, value: Any, default: int = 1) -> tuple[int, ...]:
        """A parameter for each spatial axis."""
        if value is None:
            return (default,) * self.dims
        if isinstance(value, (int, np.integer)):
            return (int(value),) * self.dims
        found = tuple(int(item) for item in value)
        return found[1:-1] if len(found) == self.dims + 2 else found if len(found) == self.dims else found * self.dims

    def dilated(self, given: Mapping[str, Any]) -> tuple[int, ...]:
        """How far apart the elements of the window are."""
        return self.each(next((given[name] for name in _DILATIONS if given.get(name) is not None), None))


_DILATIONS = ("dilation", "dilations", "dilation_rate", "rhs_dilation")
#: With these a function has its axes elsewhere, or more than a window in mind.
_OTHERWISE = ("data_format", "dimension_numbers", "lhs_dilation", "feature_group_count", "batch_group_count")
_JAX_CONV = ("lhs", "rhs", "window_strides", "padding")
_TORCH_CONV = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_TORCH_MAX = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
_TORCH_AVERAGE = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
_F = "torch.nn.functional."

WINDOWS = {
    (window.api, window.dims): window
    for window in (
        *(Window(f"{_F}conv{n}d", "conv", n, _TORCH_CONV) for n in (1, 2, 3)),
        *(Window(f"{_F}max_pool{n}d", "max", n, _TORCH_MAX) for n in (1, 2, 3)),
        *(Window(f"{_F}avg_pool{n}d", "average", n, _TORCH_AVERAGE) for n in (1, 2, 3)),
        Window("tensorflow.nn.conv1d", "conv", 1, ("input", "filters", "stride", "padding")),
        *(Window(f"tensorflow.nn.conv{n}d", "conv", n, ("input", "filters", "strides", "padding")) for n in (2, 3)),
        *(Window(f"tensorflow.nn.max_pool{n}d", "max", n, ("input", "ksize", "strides", "padding")) for n in (1, 2, 3)),
        *(
            Window(f"tensorflow.nn.avg_pool{n}d", "average", n, ("input", "ksize", "strides", "padding"))
            for n in (1, 2, 3)
        ),
        Window("tensorflow.nn.depthwise_conv2d", "depthwise", 2, ("input", "filter", "strides", "padding")),
        *(Window("jax.lax.conv", "conv", n, _JAX_CONV) for n in (1, 2, 3)),
        *(Window("jax.lax.conv_general_dilated", "conv", n, _JAX_CONV) for n in (1, 2, 3)),
        *(
            Window("keras.ops.depthwise_conv", "depthwise", n, ("inputs", "kernel", "strides", "padding"))
            for n in (1, 2)
        ),
        *(
            Window("keras.ops.average_pool", "average", n, ("inputs", "pool_size", "strides", "padding"))
            for n in (1, 2)
        ),
        *(Window("keras.ops.conv", "conv", n, ("inputs", "kernel", "strides", "padding")) for n in (1, 2, 3)),
        *(Window("keras.ops.max_pool", "max", n, ("inputs", "pool_size", "strides", "padding")) for n in (1, 2)),
    )
}
APIS = frozenset(api for api, _ in WINDOWS)


def window_of(case: Case) -> Window | None:
    """The window function that a case calls, if it does so on an input with a batch."""
    call = case.subject
    if not isinstance(call, ApiCall) or call.api not in APIS:
        return None
    names = call.arrays()
    if not names:
        return None
    if any(call.kwargs.get(name) not in (None, 1) for name in _OTHERWISE):
        return None
    rank = case.inputs[names[0]].ndim - (case.procedure.rows is not None) - 2
    return WINDOWS.get((call.api, rank))


def strided(window: Window, strides: Sequence[int]) -> dict[str, Any]:
    """Strides as the library's function takes them."""
    if window.library == "torch":
        return {"stride": list(strides)}
    if window.library == "jax":
        return {"window_strides": list(strides)}
    if window.library == "tensorflow":
        if window.api.endswith("conv1d"):
            return {"stride": strides[0]}
        if window.kind == "conv" and window.dims == 3:
            return {"strides": [1, *strides, 1]}
        return {"strides": list(strides)}
    return {"strides": list(strides)}


def sized(window: Window, size: Sequence[int]) -> dict[str, Any]:
    """The size of a pooling window as the library's function takes it."""
    name = {"torch": "kernel_size", "tensorflow": "ksize", "keras": "pool_size"}.get(window.library, "")
    return {name: list(size)} if window.kind in ("max", "average") else {}


def draw_windows(library: str, kinds: Sequence[str], count: int, seed: int) -> list[tuple[Window, Case]]:
    """Configurations of window functions, padded by nothing, with ``VALUES`` inputs each."""
    rng = np.random.default_rng([seed, 2, len(library)])
    known = [window for window in WINDOWS.values() if window.library == library and window.kind in kinds]
    found = []
    for place in range(count):
        window = known[place % len(known)]
        found.append((window, draw_window(window, rng)))
    return found


def draw_window(window: Window, rng: np.random.Generator) -> Case:
    size = [int(rng.integers(1, 4)) for _ in range(window.dims)]
    strides = [int(rng.integers(1, 4)) for _ in range(window.dims)]
    spatial = [int(rng.integers(k, 9)) for k in size]
    batch, channels, filters = (int(rng.integers(1, 4)) for _ in range(3))
    shape = (batch, channels, *spatial) if window.channels_first else (batch, *spatial, channels)
    inputs = {"x": draws(rng, shape)}
    args: tuple[Any, ...] = (X,)
    if window.kind == "depthwise" and window.library == "tensorflow":
        kwargs_of = {"strides": [1, *[strides[0]] * window.dims, 1]}  # which have to be equal there
    else:
        kwargs_of = strided(window, strides)
    if window.weighted:
        kernel = (filters, channels, *size) if window.channels_first else (*size, channels, filters)
        inputs["w"] = draws(rng, kernel)
        args = (X, W)
    kwargs = {**sized(window, size), **kwargs_of}
    padding = {"torch": 0, "tensorflow": "VALID", "jax": "VALID", "keras": "valid"}[window.library]
    return case_of(ApiCall(window.api, args, {**kwargs, "padding": padding}), inputs)


def draws(rng: np.random.Generator, shape: Sequence[int], dtype: str = "float32") -> Array:
    """``VALUES`` arrays of this shape, stacked."""
    return rng.standard_normal((VALUES, *shape)).astype(dtype)


def case_of(call: ApiCall, inputs: Mapping[str, Array], *, seed: int = 0) -> Case:
    rows = next((len(array) for array in inputs.values()), 1)
    return Case(call, Procedure(goal=Goal.CALL, rows=rows), dict(inputs), seed=seed)


def shape_of(case: Case, name: str) -> tuple[int, ...]:
    """The shape of an array without the stacking axis."""
    shape = case.inputs[name].shape
    return tuple(shape[1:] if case.procedure.rows is not None else shape)


def padded(window: Window, tensor: Any, pads: Sequence[tuple[int, int]], value: float) -> ApiCall:
    """A call that pads the spatial axes."""
    if window.library == "torch":
        flat = [amount for pair in reversed(list(pads)) for amount in pair]
        return ApiCall("torch.nn.functional.pad", (tensor, flat), {"value": value})
    whole = [(0, 0), (0, 0), *pads] if window.channels_first else [(0, 0), *pads, (0, 0)]
    lists = [list(pair) for pair in whole]
    if window.library == "tensorflow":
        return ApiCall("tensorflow.pad", (tensor, lists), {"constant_values": value})
    if window.library == "jax":
        return ApiCall("jax.numpy.pad", (tensor, lists), {"constant_values": value})
    return ApiCall("keras.ops.pad", (tensor, lists), {"constant_values": value})


def same_padding(sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """What SAME means: an output of ceil(size / stride), the odd one behind."""
    found = []
    for size, window, stride in zip(sizes, kernel, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        found.append((total // 2, total - total // 2))
    return found
