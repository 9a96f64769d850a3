"""Transposed convolutions over one, two and three spatial axes: each input value spreads the kernel."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ...core.arrays import Array
from ..arguments import Pair, flag, positive, refuse, sizes
from ..functions import named_activations
from ..reference.rounding import growth
from ..spec import Conflict, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, WeightSpec
from .convolution import (
    DATA_FORMAT,
    FILTERS,
    STRIDED_OR_DILATED,
    channels_of,
    dilation_rate,
    finish,
    kernel_size,
    padding_parameter,
    strides,
    window_of,
    with_bias,
)
from .dense import ACTIVATION, USE_BIAS
from .governed import governed
from .spatial import Sizes, Window, channel_axis, spatial_axes, to_last

_SHORTER = "output_padding is smaller than the stride"


def _output_padding(params: Params, window: Window) -> tuple[int | None, ...]:
    if params["output_padding"] is None:
        return (None,) * window.dims
    found = sizes(params, "output_padding", window.dims, least=0)
    if any(extra >= stride for extra, stride in zip(found, window.strides, strict=True)):
        refuse("output_padding", f"less than the strides {window.strides}", params["output_padding"])
    return found


def _output_size(window: Window, axis: int, size: int, extra: int | None) -> int:
    """How long the result is; ``same`` means size times stride unless output_padding says otherwise."""
    stride, reach = window.strides[axis], window.reach(axis)
    if window.padding == "valid":
        return (size - 1) * stride + reach + (max(stride - reach, 0) if extra is None else extra)
    return size * stride if extra is None else (size - 1) * stride + reach % 2 + extra


def _crop(window: Window, axis: int, size: int, extra: int | None) -> Pair:
    """Where the result begins in the full spread, and how long it is.

    The layer undoes a convolution that pads as little as it can, the odd zero at the end.
    """
    length = _output_size(window, axis, size, extra)
    if window.padding == "valid":
        return 0, length
    spare = (size - 1) * window.strides[axis] + window.reach(axis) - length
    return max(spare, 0) // 2, length


def _shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    flag(params, "use_bias")
    named_activations.check_name(params["activation"])
    channels_of(params, shapes[0], dims)
    window, result = window_of(params, dims), list(shapes[0])
    extras = _output_padding(params, window)
    for index, axis in enumerate(spatial_axes(params, dims)):
        size = shapes[0][axis]
        result[axis] = None if size is None else _output_size(window, index, size, extras[index])
        if result[axis] == 0:
            raise ShapeError(f"The output is empty. Received: shape={shapes[0]}, window={window}")
    result[channel_axis(params, dims)] = positive(params, "filters")
    return (tuple(result),)


def _weights(dims: int, params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    channels, filters, window = (
        channels_of(params, shapes[0], dims),
        positive(params, "filters"),
        window_of(params, dims),
    )
    fan_in = channels * max(1, window.places // int(np.prod(window.strides)))  # so many terms meet in one place
    kernel = WeightSpec((*window.size, filters, channels), "kernel", fan_in=fan_in)
    return with_bias(params, {"kernel": kernel}, filters, fan_in)


def spread(x: Array, kernel: Array, window: Window, extras: tuple[int | None, ...]) -> Evaluation:
    """Every input position adds its value times the kernel around its place; then the ends are cut."""
    grid = x.shape[1:-1]
    full = [(size - 1) * window.strides[axis] + window.reach(axis) for axis, size in enumerate(grid)]
    cuts = [_crop(window, axis, size, extras[axis]) for axis, size in enumerate(grid)]
    room = [max(size, start + length) for size, (start, length) in zip(full, cuts, strict=True)]
    value, kappa = (np.zeros((x.shape[0], *room, kernel.shape[-2])) for _ in range(2))
    for place in itertools.product(*map(range, window.size)):
        where = (slice(None), *_landing_slices(window, place, grid))
        value[where] += x @ kernel[place].T
        kappa[where] += np.abs(x) @ np.abs(kernel[place]).T
    kappa *= growth(kernel.shape[-1] * window.places)
    kept = (slice(None), *(slice(start, start + length) for start, length in cuts))
    return Evaluation(value[kept], kappa[kept])


def _landing_slices(window: Window, place: Sizes, grid: Sizes) -> list[slice]:
    """Where the inputs land that go through this place of the kernel."""
    found = []
    for axis, (index, size) in enumerate(zip(place, grid, strict=True)):
        start = index * window.dilation[axis]
        found.append(slice(start, start + (size - 1) * window.strides[axis] + 1, window.strides[axis]))
    return found


def _reference(
    dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    window = window_of(params, dims)
    found = spread(to_last(params, inputs[0]), weights["kernel"], window, _output_padding(params, window))
    return finish(params, found, weights)


def _undilated(dims: int, params: Params) -> str:
    rates = params["dilation_rate"]
    each = list(rates) if isinstance(rates, (list, tuple)) else [rates]
    if dims == 1 and each[0] != 1:
        return "Also dilation rate larger than 1 is not currently supported."
    if len(set(each)) > 1:
        return "Specifying different dilation rates for different dimensions is not supported."
    return ""


def _transposed_layer(dims: int) -> LayerSpec:
    return LayerSpec(
        name=f"Conv{dims}DTranspose",
        api=f"keras.layers.Conv{dims}DTranspose",
        arity=(1, 1),
        ranks=(dims + 2,),
        parameters=(
            FILTERS,
            kernel_size(dims),
            strides(dims),
            padding_parameter(),
            Parameter("output_padding", None, (None, 0, 1), (-1, 9)),
            DATA_FORMAT,
            dilation_rate(dims),
            ACTIVATION,
            USE_BIAS,
        ),
        shape=partial(_shape, dims),
        weights=partial(_weights, dims),
        reference=partial(_reference, dims),
        formula=(
            "output = activation(each input value times the kernel, added around stride times its position, the ends "
            "cut as a convolution with this padding would have padded them, + bias)"
        ),
        conflicts=(
            STRIDED_OR_DILATED,
            Conflict({"strides": 1, "output_padding": 1}, _SHORTER),
            Conflict({"strides": 2, "output_padding": 2}, _SHORTER),
        ),
        hazards=("output_padding lengthens the end",),
        limits=partial(_undilated, dims),
    )


CONV1D_TRANSPOSE, CONV2D_TRANSPOSE, CONV3D_TRANSPOSE = (
    governed(_transposed_layer(dims), activity=True, kernel="kernel", bias="bias") for dims in (1, 2, 3)
)
