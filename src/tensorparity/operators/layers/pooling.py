"""Pooling in windows and over everything, over one, two and three spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import channels_first, flag, need_rank
from ..reference.rounding import exact, growth, mean_over
from ..spec import FLOATS, Evaluation, LayerSpec, Mask, Parameter, Params, Shape, ShapeError, no_weights
from .spatial import DATA_FORMATS, Window, channel_axis, from_last, read_window, spatial_axes, to_last, windowed_shape

Reference = Callable[[int, Params, Sequence[Array], Mapping[str, Array]], tuple[Evaluation, ...]]

#: Over three axes TensorFlow pools on CPUs in no other, and torch averages in none of 16 bits.
POOLED_IN_3D = {"MaxPooling": ("float32", "bfloat16"), "AveragePooling": ("float32",)}
_PADDING = Parameter("padding", "valid", ("valid", "same"), ("causal", "full", 1))
_DATA_FORMAT = Parameter("data_format", None, DATA_FORMATS, ("channels_middle",))
_KEEPDIMS = Parameter("keepdims", False, (False, True))

#: Per number of spatial axes, the default first where there is one.
_SIZES: dict[int, tuple[Json, ...]] = {
    1: (2, 1, 3, 4),
    2: ((2, 2), 1, 2, 3, (1, 2), (3, 2)),
    3: ((2, 2, 2), 1, 3, (1, 2, 3)),
}
_STEPS: dict[int, tuple[Json, ...]] = {1: (None, 1, 2, 3), 2: (None, 1, 2, 3, (1, 2)), 3: (None, 1, 3, (1, 2, 2))}

#: More than there are numbers in a window.
_UNIT = 2.0**20


def _window(params: Params, dims: int) -> Window:
    return read_window(params, "pool_size", dilated=False, dims=dims)


def _shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], dims + 2)
    return (windowed_shape(params, _window(params, dims), shapes[0], shapes[0][channel_axis(params, dims)]),)


def _max(dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    taps = _window(params, dims).taps(to_last(params, inputs[0]), fill=-np.inf)
    value = reduce(np.maximum, (seen for _, seen in taps))
    return (exact(from_last(params, value)),)


def _average(
    dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    window, x = _window(params, dims), to_last(params, inputs[0])
    count = _total(window, np.ones((1, *x.shape[1:-1], 1)))
    kappa = growth(window.places) * _mean(window, np.abs(x), count)
    return (Evaluation(from_last(params, _mean(window, x, count)), from_last(params, kappa)),)


def _mean(window: Window, x: Array, count: Array) -> Array:
    """The total over the count, in larger units where it leaves the range and the mean does not."""
    plain, scaled = _total(window, x) / count, _total(window, x / _UNIT) / count * _UNIT
    return np.where(np.isinf(plain), scaled, plain)


def _total(window: Window, x: Array) -> Array:
    return reduce(np.add, (seen for _, seen in window.taps(x)))


def _pooling_layer(name: str, dims: int, required: bool, reference: Reference, formula: str, hazard: str) -> LayerSpec:
    size = Parameter(
        "pool_size", None if required else _SIZES[dims][0], _SIZES[dims], (0, -1, (2,) * (dims + 1)), required=required
    )
    return LayerSpec(
        name=f"{name}{dims}D",
        api=f"keras.layers.{name}{dims}D",
        arity=(1, 1),
        ranks=(dims + 2,),
        dtypes=POOLED_IN_3D[name] if dims == 3 else FLOATS,
        parameters=(
            size,
            Parameter("strides", None, _STEPS[dims], (0, -1, (1,) * (dims + 1))),
            _PADDING,
            _DATA_FORMAT,
        ),
        shape=partial(_shape, dims),
        weights=no_weights,
        reference=partial(reference, dims),
        formula=formula,
        hazards=(hazard,),
    )


def _max_pooling(dims: int) -> LayerSpec:
    return _pooling_layer(
        "MaxPooling",
        dims,
        False,
        _max,
        "output = the largest value of each channel in each window; padding never wins",
        "the gradient of a tie may go to any of the tied inputs",
    )


def _average_pooling(dims: int) -> LayerSpec:
    return _pooling_layer(
        "AveragePooling",
        dims,
        True,
        _average,
        "output = the mean of each channel in each window, taken over the inputs in it and not over the padding",
        "with padding 'same' the divisor at the border is the number of real inputs",
    )


MAX_POOLING1D, MAX_POOLING2D, MAX_POOLING3D = _max_pooling(1), _max_pooling(2), _max_pooling(3)
AVERAGE_POOLING1D, AVERAGE_POOLING2D, AVERAGE_POOLING3D = _average_pooling(1), _average_pooling(2), _average_pooling(3)


# Over everything


def _global_shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], dims + 2)
    batch, channels = shapes[0][0], shapes[0][channel_axis(params, dims)]
    if not flag(params, "keepdims"):
        return ((batch, channels),)
    ones = (1,) * dims
    return ((batch, channels, *ones) if channels_first(params) else (batch, *ones, channels),)


def _global_mean(
    dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    x, axes, keep = inputs[0], spatial_axes(params, dims), flag(params, "keepdims")
    count = int(np.prod([x.shape[axis] for axis in axes]))
    return (Evaluation(mean_over(x, axes, keepdims=keep), growth(count) * mean_over(np.abs(x), axes, keepdims=keep)),)


def _global_max(
    dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    return (exact(np.max(inputs[0], axis=spatial_axes(params, dims), keepdims=flag(params, "keepdims"))),)


def _masked_mean(
    params: Params, inputs: Sequence[Array], weights: Mapping[str, Array], masks: Sequence[Mask], training: bool
) -> tuple[Evaluation, ...]:
    """The mean of the steps that the mask shows; of none it is 0 / 0."""
    x, (axis,), keep = inputs[0], spatial_axes(params, 1), flag(params, "keepdims")
    mask = masks[0]
    if mask is None:
        return _global_mean(1, params, inputs, weights)
    if mask.shape != (x.shape[0], x.shape[axis]):
        raise ShapeError(f"Expected a mask of shape {(x.shape[0], x.shape[axis])}. Received: {mask.shape}")
    shown = np.expand_dims(mask, 3 - axis)
    count = np.sum(shown, axis=axis, keepdims=keep)
    value = np.sum(np.where(shown, x, 0.0), axis=axis, keepdims=keep) / count
    sizes = np.sum(np.where(shown, np.abs(x), 0.0), axis=axis, keepdims=keep) / count
    return (Evaluation(value, growth(x.shape[axis]) * sizes),)


def _global(name: str, dims: int, reference: Reference, formula: str, *hazards: str) -> LayerSpec:
    return LayerSpec(
        name=f"{name}{dims}D",
        api=f"keras.layers.{name}{dims}D",
        arity=(1, 1),
        ranks=(dims + 2,),
        parameters=(_DATA_FORMAT, _KEEPDIMS),
        shape=partial(_global_shape, dims),
        weights=no_weights,
        reference=partial(reference, dims),
        formula=formula,
        hazards=hazards,
    )


def _global_average_pooling(dims: int, *hazards: str) -> LayerSpec:
    formula = "output = the mean of each channel over all spatial axes"
    return _global("GlobalAveragePooling", dims, _global_mean, formula, *hazards)


def _global_max_pooling(dims: int) -> LayerSpec:
    return _global(
        "GlobalMaxPooling", dims, _global_max, "output = the largest value of each channel over all spatial axes"
    )


GLOBAL_AVERAGE_POOLING1D = replace(
    _global_average_pooling(1, "a mask leaves steps out of the mean"), masked=_masked_mean
)
GLOBAL_AVERAGE_POOLING2D, GLOBAL_AVERAGE_POOLING3D = _global_average_pooling(2), _global_average_pooling(3)
GLOBAL_MAX_POOLING1D, GLOBAL_MAX_POOLING2D = _global_max_pooling(1), _global_max_pooling(2)
GLOBAL_MAX_POOLING3D = _global_max_pooling(3)
