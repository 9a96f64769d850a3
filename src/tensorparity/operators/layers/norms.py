"""Normalizations without statistics of their own: groups of channels, root mean squares, unit length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import flag, is_integer, known_size, number, refuse, sample_axes
from ..reference.rounding import growth, unit_of
from ..spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, WeightSpec, no_weights
from .masks import passed_on
from .normalization import affine, centred_and_scaled

_AXES = Parameter("axis", -1, (-1, 1, (-2, -1)), (7, "channels"))


# GroupNormalization


def _group_axis(params: Params, shape: Shape) -> int:
    if not is_integer(params["axis"]):
        refuse("axis", "one axis", params["axis"])
    (axis,) = sample_axes(params["axis"], "axis", len(shape))
    return axis


def _groups(params: Params, shape: Shape) -> int:
    """How many groups there are; -1 makes every channel one of its own."""
    size, groups = known_size(shape, _group_axis(params, shape), "the channels"), params["groups"]
    if not is_integer(groups) or (groups <= 0 and groups != -1):
        refuse("groups", "a positive integer or -1", groups)
    if groups == -1:
        return size
    if size % groups:
        raise ShapeError(f"Argument `groups`: expected a divisor of {size} channels. Received: groups={groups}")
    return int(groups)


def _group_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    if len(shapes[0]) < 2:
        raise ShapeError(f"Expected an input of rank 2 or more, batch axis included. Received: shape={shapes[0]}")
    number(params, "epsilon")
    flag(params, "center")
    flag(params, "scale")
    _groups(params, shapes[0])
    return (shapes[0],)


def _group_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    return affine(params, (known_size(shapes[0], _group_axis(params, shapes[0]), "the channels"),))


def _group_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    axis = _group_axis(params, x.shape)
    last = np.moveaxis(x, axis, -1)
    channels = last.shape[-1]
    groups = _groups(params, x.shape)
    grouped = last.reshape(*last.shape[:-1], groups, channels // groups)  # of no rows at all, -1 would be ambiguous
    gamma = weights["gamma"] if flag(params, "scale") else np.ones(channels)
    beta = weights["beta"] if flag(params, "center") else np.zeros(channels)
    shape = grouped.shape[-2:]
    axes = (*range(1, grouped.ndim - 2), grouped.ndim - 1)
    found = centred_and_scaled(grouped, axes, number(params, "epsilon"), gamma.reshape(shape), beta.reshape(shape))
    return (
        Evaluation(
            np.moveaxis(found.value.reshape(last.shape), -1, axis),
            np.moveaxis(found.kappa.reshape(last.shape), -1, axis),
        ),
    )


GROUP_NORMALIZATION = LayerSpec(
    name="GroupNormalization",
    api="keras.layers.GroupNormalization",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(
        Parameter("groups", 32, (32, 1, 2, 3, -1), (0, -2)),
        Parameter("axis", -1, (-1, 1, -2), (7, "channels")),
        Parameter("epsilon", 1e-3, (1e-3, 1e-5, 1e-2, 1.0), ("much",)),
        Parameter("center", True, (True, False)),
        Parameter("scale", True, (True, False)),
    ),
    shape=_group_shape,
    weights=_group_weights,
    reference=_group_reference,
    formula=(
        "output = gamma * (input - mean) / sqrt(variance + epsilon) + beta, with mean and variance of each sample over "
        "all positions and the channels of one group of consecutive channels"
    ),
    masks=passed_on,
    hazards=("a variance far below the squared mean cancels if it is computed as E[x^2] - E[x]^2",),
)


# RMSNormalization


def _axes(params: Params, shape: Shape) -> tuple[int, ...]:
    return tuple(sorted(sample_axes(params["axis"], "axis", len(shape))))


def _rms_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    number(params, "epsilon")
    for axis in _axes(params, shapes[0]):
        known_size(shapes[0], axis, "a normalized one")
    return (shapes[0],)


def _rms_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    sizes = tuple(known_size(shapes[0], axis, "a normalized one") for axis in _axes(params, shapes[0]))
    return {"scale": WeightSpec(sizes, "scale")}


def _rms_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    axes = _axes(params, x.shape)
    along = [size if axis in axes else 1 for axis, size in enumerate(x.shape)]
    unit = np.maximum(unit_of(x, axes), 1.0)
    square = np.mean(np.square(x / unit), axis=axes, keepdims=True)
    value = x / unit / np.sqrt(square + number(params, "epsilon") / unit / unit) * weights["scale"].reshape(along)
    return (Evaluation(value, np.abs(value) * (2.0 + 0.5 * growth(_count(x, axes)))),)


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[axis] for axis in axes)


RMS_NORMALIZATION = LayerSpec(
    name="RMSNormalization",
    api="keras.layers.RMSNormalization",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(_AXES, Parameter("epsilon", 1e-6, (1e-6, 1e-3, 1.0), ("much",))),
    shape=_rms_shape,
    weights=_rms_weights,
    reference=_rms_reference,
    formula="output = scale * input / sqrt(mean of input^2 over the given axes + epsilon)",
    hazards=("squares overflow where the output would not",),
)


# UnitNormalization

#: Keras never divides by less.
_LEAST_LENGTH = 1e-12


def _unit_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    _axes(params, shapes[0])
    return (shapes[0],)


def unit_length(x: Array, axes: tuple[int, ...], least: float) -> Evaluation:
    """``x`` divided by its Euclidean length over ``axes``, or by ``least`` where that is longer."""
    unit = unit_of(x, axes)
    length = np.sqrt(np.sum(np.square(x / unit), axis=axes, keepdims=True)) * unit
    value = x / np.maximum(length, least)
    return Evaluation(value, np.abs(value) * (2.0 + 0.5 * growth(_count(x, axes))))


def _unit_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    return (unit_length(inputs[0], _axes(params, inputs[0].shape), _LEAST_LENGTH),)


UNIT_NORMALIZATION = LayerSpec(
    name="UnitNormalization",
    api="keras.layers.UnitNormalization",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(_AXES,),
    shape=_unit_shape,
    weights=no_weights,
    reference=_unit_reference,
    formula="output = input / its Euclidean length over the given axes",
    masks=passed_on,
    hazards=("zeros stay zeros", "squares overflow and underflow where the output would not"),
)
