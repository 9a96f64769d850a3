"""Pooling over height and width, in windows and over the whole image."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from ..core.arrays import Array
from .arguments import channels_first, flag, need_rank
from .rounding import exact, growth
from .spatial import DATA_FORMATS, Window, channel_axis, from_last, read_window, spatial_axes, to_last, windowed_shape
from .spec import Evaluation, LayerSpec, Parameter, Params, Shape, no_weights

_STRIDES = Parameter("strides", None, (None, 1, 2, 3, (1, 2)), (0, -1, (1, 1, 1)))
_PADDING = Parameter("padding", "valid", ("valid", "same"), ("causal", "full", 1))
_DATA_FORMAT = Parameter("data_format", None, DATA_FORMATS, ("channels_middle",))
_KEEPDIMS = Parameter("keepdims", False, (False, True))
_SIZES = ((2, 2), 1, 2, 3, (1, 2), (3, 2))
_BAD_SIZES = (0, -1, (2, 2, 2))


def _window(params: Params) -> Window:
    return read_window(params, "pool_size", dilated=False)


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 4)
    return (windowed_shape(params, _window(params), shapes[0], shapes[0][channel_axis(params)]),)


def _max_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    taps = _window(params).taps(to_last(params, inputs[0]), fill=-np.inf)
    _, _, value = next(taps)
    for _, _, seen in taps:
        value = np.maximum(value, seen)
    return (exact(from_last(params, value)),)


def _average_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    window, x = _window(params), to_last(params, inputs[0])
    count = _total(window, np.ones((1, *x.shape[1:3], 1)))
    kappa = growth(window.size[0] * window.size[1]) * _total(window, np.abs(x)) / count
    return (Evaluation(from_last(params, _total(window, x) / count), from_last(params, kappa)),)


def _total(window: Window, x: Array) -> Array:
    return reduce(np.add, (seen for _, _, seen in window.taps(x)))


MAX_POOLING2D = LayerSpec(
    name="MaxPooling2D",
    api="keras.layers.MaxPooling2D",
    arity=(1, 1),
    ranks=(4,),
    parameters=(Parameter("pool_size", (2, 2), _SIZES, _BAD_SIZES), _STRIDES, _PADDING, _DATA_FORMAT),
    shape=_shape,
    weights=no_weights,
    reference=_max_reference,
    formula="output = the largest value of each channel in each window; padding never wins",
    hazards=("the gradient of a tie may go to any of the tied inputs",),
)

AVERAGE_POOLING2D = LayerSpec(
    name="AveragePooling2D",
    api="keras.layers.AveragePooling2D",
    arity=(1, 1),
    ranks=(4,),
    parameters=(Parameter("pool_size", None, _SIZES, _BAD_SIZES, required=True), _STRIDES, _PADDING, _DATA_FORMAT),
    shape=_shape,
    weights=no_weights,
    reference=_average_reference,
    formula="output = the mean of each channel in each window, taken over the inputs in it and not over the padding",
    hazards=("with padding 'same' the divisor at the border is the number of real inputs",),
)


# The whole image


def _global_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 4)
    batch, channels = shapes[0][0], shapes[0][channel_axis(params)]
    if not flag(params, "keepdims"):
        return ((batch, channels),)
    return ((batch, channels, 1, 1) if channels_first(params) else (batch, 1, 1, channels),)


def _global_mean(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x, axes, keep = inputs[0], spatial_axes(params), flag(params, "keepdims")
    count = x.shape[axes[0]] * x.shape[axes[1]]
    return (
        Evaluation(np.mean(x, axis=axes, keepdims=keep), growth(count) * np.mean(np.abs(x), axis=axes, keepdims=keep)),
    )


def _global_max(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    return (exact(np.max(inputs[0], axis=spatial_axes(params), keepdims=flag(params, "keepdims"))),)


def _global(
    name: str,
    reference: Callable[[Params, Sequence[Array], Mapping[str, Array]], tuple[Evaluation, ...]],
    formula: str,
) -> LayerSpec:
    return LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=(1, 1),
        ranks=(4,),
        parameters=(_DATA_FORMAT, _KEEPDIMS),
        shape=_global_shape,
        weights=no_weights,
        reference=reference,
        formula=formula,
    )


GLOBAL_AVERAGE_POOLING2D = _global(
    "GlobalAveragePooling2D", _global_mean, "output = the mean of each channel over height and width"
)
GLOBAL_MAX_POOLING2D = _global(
    "GlobalMaxPooling2D", _global_max, "output = the largest value of each channel over height and width"
)
