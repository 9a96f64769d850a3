"""UpSampling over one, two and three axes: values repeated, or blended between their places."""

from __future__ import annotations

from ...core.arrays import Array
from ..arguments import choice, need_rank, pair, positive, sizes
from ..reference.rounding import exact
from ..spec import Evaluation, Parameter, Params, Shape
from .reshaping import DATA_FORMAT, moving_layer
from .resizing import INTERPOLATIONS, resize_axis
from .spatial import Sizes, from_last, spatial_axes, to_last


def _grown_shape(shape: Shape, axes: Sizes, factors: Sizes) -> Shape:
    result = list(shape)
    for axis, factor in zip(axes, factors, strict=True):
        size = shape[axis]
        result[axis] = None if size is None else size * factor
    return tuple(result)


def _repeat(x: Array, axes: Sizes, factors: Sizes) -> Array:
    for axis, factor in zip(axes, factors, strict=True):
        x = x.repeat(factor, axis=axis)
    return x


# UpSampling1D


def _grown1d(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 3)
    return _grown_shape(shape, (1,), (positive(params, "size"),))


UP_SAMPLING1D = moving_layer(
    "UpSampling1D",
    (3,),
    (Parameter("size", 2, (2, 1, 3), (0, -1, 1.5, (2,))),),
    _grown1d,
    lambda params, x: exact(_repeat(x, (1,), (positive(params, "size"),))),
    "output = each step of the input size times",
)


# UpSampling2D


def _grown2d(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 4)
    choice(params, "interpolation", INTERPOLATIONS)
    return _grown_shape(shape, spatial_axes(params), pair(params, "size"))


def _upsample2d(params: Params, x: Array) -> Evaluation:
    result = exact(to_last(params, x))
    for axis, factor in zip((1, 2), pair(params, "size"), strict=True):
        result = resize_axis(result, axis, result.value.shape[axis] * factor, params["interpolation"], antialias=False)
    return Evaluation(from_last(params, result.value), from_last(params, result.kappa))


UP_SAMPLING2D = moving_layer(
    "UpSampling2D",
    (4,),
    (
        Parameter("size", (2, 2), ((2, 2), 1, 3, (1, 2)), (0, -1, (2, 2, 2))),
        DATA_FORMAT,
        Parameter("interpolation", "nearest", INTERPOLATIONS, ("cubist",)),
    ),
    _grown2d,
    _upsample2d,
    "output = the input enlarged by size, each value repeated or a blend of its neighbours by a kernel, as in Resizing",
)


# UpSampling3D


def _grown3d(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 5)
    return _grown_shape(shape, spatial_axes(params, 3), sizes(params, "size", 3))


UP_SAMPLING3D = moving_layer(
    "UpSampling3D",
    (5,),
    (Parameter("size", (2, 2, 2), ((2, 2, 2), 1, (1, 2, 3)), (0, -1, (2, 2))), DATA_FORMAT),
    _grown3d,
    lambda params, x: exact(_repeat(x, spatial_axes(params, 3), sizes(params, "size", 3))),
    "output = each value of the input repeated size times along each spatial axis",
)
