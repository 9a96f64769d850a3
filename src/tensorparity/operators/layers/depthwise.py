"""Convolutions that treat each channel alone: DepthwiseConv and SeparableConv, over one and two axes.

Their docstrings still rule out strides together with dilation, which Keras allows on purpose
(docs/decisions/trophies.md): no conflict is declared, and the combination is not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ...core.arrays import Array
from ..arguments import positive
from ..reference.rounding import growth
from ..shared_code import DEPTHWISE_CONVOLUTION
from ..spec import Evaluation, LayerSpec, Parameter, Params, Shape, WeightSpec
from .convolution import (
    DATA_FORMAT,
    FILTERS,
    channels_of,
    dilation_rate,
    finish,
    kernel_size,
    output_of,
    padding_parameter,
    strides,
    window_of,
    with_bias,
)
from .dense import ACTIVATION, USE_BIAS
from .governed import governed
from .spatial import Window, to_last

_MULTIPLIER = Parameter("depth_multiplier", 1, (1, 2, 3), (0, -1))

# DepthwiseConv


def _depthwise_shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    channels = channels_of(params, shapes[0], dims) * positive(params, "depth_multiplier")
    return output_of(params, window_of(params, dims), shapes[0], channels)


def _depthwise_kernel(dims: int, params: Params, shapes: Sequence[Shape]) -> WeightSpec:
    window = window_of(params, dims)
    pattern = (channels_of(params, shapes[0], dims), positive(params, "depth_multiplier"))
    return WeightSpec((*window.size, *pattern), "kernel", fan_in=window.places)


def _depthwise_weights(dims: int, params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    kernel = _depthwise_kernel(dims, params, shapes)
    return with_bias(params, {"kernel": kernel}, kernel.shape[-2] * kernel.shape[-1], kernel.fan_in)


def depthwise(x: Array, kernel: Array, window: Window) -> Evaluation:
    """Each channel with its own filters; output channel ``c * depth_multiplier + m`` comes from channel c."""
    shape = (x.shape[0], *window.grid(x), *kernel.shape[-2:])
    value, kappa = np.zeros(shape), np.zeros(shape)
    for place, seen in window.taps(x):
        term = seen[..., None] * kernel[place]
        value += term
        kappa += np.abs(term)
    kappa *= growth(window.places)
    flat = (*shape[:-2], shape[-2] * shape[-1])
    return Evaluation(value.reshape(flat), kappa.reshape(flat))


def _depthwise_reference(
    dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    return finish(params, depthwise(to_last(params, inputs[0]), weights["kernel"], window_of(params, dims)), weights)


_CHANNELWISE_HAZARDS = ("TensorFlow wants equal strides on all axes",)


def _depthwise(dims: int) -> LayerSpec:
    return LayerSpec(
        name=f"DepthwiseConv{dims}D",
        api=f"keras.layers.DepthwiseConv{dims}D",
        arity=(1, 1),
        ranks=(dims + 2,),
        shared=(DEPTHWISE_CONVOLUTION,),
        parameters=(
            kernel_size(dims),
            strides(dims),
            padding_parameter(),
            _MULTIPLIER,
            DATA_FORMAT,
            dilation_rate(dims),
            ACTIVATION,
            USE_BIAS,
        ),
        shape=partial(_depthwise_shape, dims),
        weights=partial(_depthwise_weights, dims),
        reference=partial(_depthwise_reference, dims),
        formula=(
            "output = activation(each input channel correlated with its own depth_multiplier filters, the results side "
            "by side, + bias)"
        ),
        hazards=_CHANNELWISE_HAZARDS,
    )


DEPTHWISE_CONV1D, DEPTHWISE_CONV2D = (
    governed(_depthwise(dims), activity=True, depthwise="kernel", bias="bias") for dims in (1, 2)
)


# SeparableConv


def _separable_shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    channels_of(params, shapes[0], dims)
    positive(params, "depth_multiplier")
    return output_of(params, window_of(params, dims), shapes[0], positive(params, "filters"))


def _separable_weights(dims: int, params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    kernel, filters = _depthwise_kernel(dims, params, shapes), positive(params, "filters")
    inner = kernel.shape[-2] * kernel.shape[-1]
    pointwise = WeightSpec((*(1,) * dims, inner, filters), "kernel", fan_in=inner)
    return with_bias(params, {"depthwise_kernel": kernel, "pointwise_kernel": pointwise}, filters, inner)


def _separable_reference(
    dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    inner = depthwise(to_last(params, inputs[0]), weights["depthwise_kernel"], window_of(params, dims))
    mixing = weights["pointwise_kernel"][(0,) * dims]
    magnitude = np.abs(mixing)
    rounded = growth(mixing.shape[0]) * (np.abs(inner.value) @ magnitude)
    return finish(params, Evaluation(inner.value @ mixing, rounded + inner.kappa @ magnitude), weights)


def _separable(dims: int) -> LayerSpec:
    return LayerSpec(
        name=f"SeparableConv{dims}D",
        api=f"keras.layers.SeparableConv{dims}D",
        arity=(1, 1),
        ranks=(dims + 2,),
        shared=(DEPTHWISE_CONVOLUTION,),
        parameters=(
            FILTERS,
            kernel_size(dims),
            strides(dims),
            padding_parameter(),
            DATA_FORMAT,
            dilation_rate(dims),
            _MULTIPLIER,
            ACTIVATION,
            USE_BIAS,
        ),
        shape=partial(_separable_shape, dims),
        weights=partial(_separable_weights, dims),
        reference=partial(_separable_reference, dims),
        formula=(
            "output = activation(a depthwise convolution without bias, then a 1x1 convolution that mixes its channels, "
            "+ bias)"
        ),
        hazards=_CHANNELWISE_HAZARDS,
    )


SEPARABLE_CONV1D, SEPARABLE_CONV2D = (
    governed(_separable(dims), activity=True, depthwise="depthwise_kernel", pointwise="pointwise_kernel", bias="bias")
    for dims in (1, 2)
)
