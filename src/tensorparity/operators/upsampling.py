"""UpSampling over one, two and three axes: values repeated, or blended between their places."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from .arguments import choice, need_rank, pair, positive, sizes
from .reshaping import DATA_FORMAT, moving
from .rounding import exact, growth
from .spatial import Sizes, from_last, spatial_axes, to_last
from .spec import Evaluation, Parameter, Params, Shape


def _grown(shape: Shape, axes: Sizes, factors: Sizes) -> Shape:
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
    return _grown(shape, (1,), (positive(params, "size"),))


UP_SAMPLING1D = moving(
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
    choice(params, "interpolation", ("nearest", "bilinear"))
    return _grown(shape, spatial_axes(params), pair(params, "size"))


def _blend(x: Evaluation, axis: int, factor: int) -> Evaluation:
    """Linear interpolation along one axis: output i lies at (i + 1/2) / factor - 1/2, clamped to the input."""
    size = x.value.shape[axis]
    place = np.maximum((np.arange(size * factor) + 0.5) / factor - 0.5, 0.0)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, size - 1)
    along = [1] * x.value.ndim
    along[axis] = -1
    share = (place - low).reshape(along)
    first, second = x.value.take(low, axis), x.value.take(high, axis)
    carried = x.kappa.take(low, axis) * (1 - share) + x.kappa.take(high, axis) * share
    # The place itself is computed in the dtype: its rounding moves the blend along the difference.
    moved = (place + 1.0).reshape(along) * np.abs(second - first)
    terms = growth(2) * (np.abs(first) * (1 - share) + np.abs(second) * share)
    return Evaluation(first * (1 - share) + second * share, carried + moved + terms)


def _upsample2d(params: Params, x: Array) -> Evaluation:
    last, factors = to_last(params, x), pair(params, "size")
    if params["interpolation"] == "nearest":
        result = exact(_repeat(last, (1, 2), factors))
    else:
        result = _blend(_blend(exact(last), 1, factors[0]), 2, factors[1])
    return Evaluation(from_last(params, result.value), from_last(params, result.kappa))


UP_SAMPLING2D = moving(
    "UpSampling2D",
    (4,),
    (
        Parameter("size", (2, 2), ((2, 2), 1, 3, (1, 2)), (0, -1, (2, 2, 2))),
        DATA_FORMAT,
        Parameter("interpolation", "nearest", ("nearest", "bilinear"), ("cubist",)),
    ),
    _grown2d,
    _upsample2d,
    "output = the input enlarged by size, each value repeated or blended linearly between centres of cells",
)


# UpSampling3D


def _grown3d(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 5)
    return _grown(shape, spatial_axes(params, 3), sizes(params, "size", 3))


UP_SAMPLING3D = moving(
    "UpSampling3D",
    (5,),
    (Parameter("size", (2, 2, 2), ((2, 2, 2), 1, (1, 2, 3)), (0, -1, (2, 2))), DATA_FORMAT),
    _grown3d,
    lambda params, x: exact(_repeat(x, spatial_axes(params, 3), sizes(params, "size", 3))),
    "output = each value of the input repeated size times along each spatial axis",
)
