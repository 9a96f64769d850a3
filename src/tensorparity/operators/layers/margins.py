"""Zeros around the input, or its borders cut off: ZeroPadding and Cropping over one, two and three axes."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import Pair, margins_of, need_rank
from ..reference.rounding import exact
from ..spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError
from .reshaping import DATA_FORMAT, moving_layer
from .spatial import spatial_axes

_LAST = {"data_format": None}

#: Per number of spatial axes: the default, other values, and what is not one.
_PADDINGS: dict[int, tuple[tuple[Json, ...], tuple[Json, ...]]] = {
    1: ((1, 0, 2, (1, 2)), (-1, (1, 2, 3), 1.5)),
    2: (((1, 1), 0, 2, (1, 2), ((1, 0), (0, 2))), (((-1, 0), (0, 0)), (1, 2, 3), 1.5)),
    3: ((((1, 1), (1, 1), (1, 1)), 0, 2, (1, 0, 2), ((1, 0), (0, 2), (3, 1))), (((-1, 0),) * 3, (1, 2), 1.5)),
}
_CROPPINGS: dict[int, tuple[tuple[Json, ...], tuple[Json, ...]]] = {
    1: (((1, 1), 0, 1, (0, 2), (1, 0)), (-1, (1, 2, 3))),
    2: ((((0, 0), (0, 0)), 1, (1, 0), ((1, 0), (0, 2))), (-1, (1, 2, 3))),
    3: (
        (((1, 1), (1, 1), (1, 1)), 0, (1, 0, 1), ((1, 0), (0, 2), (1, 1)), ((0, 1), (1, 0), (2, 0))),
        (-1, (1, 2), ((1, -1),) * 3),
    ),
}


def _margins(name: str, dims: int, params: Params) -> list[Pair]:
    """(before, after) of every axis; some layers have no data format, and mean channels last."""
    found: list[Pair] = [(0, 0)] * (dims + 2)
    for axis, margin in zip(spatial_axes({**_LAST, **params}, dims), margins_of(params, name, dims), strict=True):
        found[axis] = margin
    return found


def _padded_shape(dims: int, params: Params, shape: Shape) -> Shape:
    need_rank(shape, dims + 2)
    margins = _margins("padding", dims, params)
    return tuple(None if size is None else size + sum(margin) for size, margin in zip(shape, margins, strict=True))


def _pad(dims: int, params: Params, x: Array) -> Evaluation:
    return exact(np.pad(x, _margins("padding", dims, params)))


def _zero_padding(dims: int) -> LayerSpec:
    valid, invalid = _PADDINGS[dims]
    return moving_layer(
        f"ZeroPadding{dims}D",
        (dims + 2,),
        (Parameter("padding", valid[0], valid, invalid), DATA_FORMAT),
        partial(_padded_shape, dims),
        partial(_pad, dims),
        "output = the input with zeros before and after each spatial axis",
    )


ZERO_PADDING1D, ZERO_PADDING2D, ZERO_PADDING3D = _zero_padding(1), _zero_padding(2), _zero_padding(3)


def _cropped_shape(dims: int, params: Params, shape: Shape) -> Shape:
    need_rank(shape, dims + 2)
    margins = _margins("cropping", dims, params)
    for size, margin in zip(shape, margins, strict=True):
        if size is not None and sum(margin) >= size > 0:
            raise ShapeError(
                "Argument `cropping`: expected less than the spatial size. "
                f"Received: cropping={params['cropping']!r}, shape={shape}"
            )
    return tuple(None if size is None else size - sum(margin) for size, margin in zip(shape, margins, strict=True))


def _crop(dims: int, params: Params, x: Array) -> Evaluation:
    margins = _margins("cropping", dims, params)
    return exact(x[tuple(slice(before, size - after) for size, (before, after) in zip(x.shape, margins, strict=True))])


def _cropping_layer(dims: int) -> LayerSpec:
    valid, invalid = _CROPPINGS[dims]
    size = Parameter("cropping", valid[0], valid, invalid)
    return moving_layer(
        f"Cropping{dims}D",
        (dims + 2,),
        (size,) if dims == 1 else (size, DATA_FORMAT),
        partial(_cropped_shape, dims),
        partial(_crop, dims),
        "output = the input without the given numbers of entries at both ends of each spatial axis",
    )


CROPPING1D, CROPPING2D, CROPPING3D = _cropping_layer(1), _cropping_layer(2), _cropping_layer(3)
