"""Layers that move values: Flatten, Reshape, Permute, ZeroPadding2D, Cropping2D, UpSampling2D."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..core.arrays import Array
from .arguments import Pair, channels_first, choice, is_integer, need_rank, pair, pair_of_pairs, refuse
from .rounding import exact, growth
from .spatial import DATA_FORMATS, from_last, spatial_axes, to_last
from .spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights

_DATA_FORMAT = Parameter("data_format", None, DATA_FORMATS, ("channels_middle",))


def _moving(
    name: str,
    ranks: tuple[int, ...],
    parameters: tuple[Parameter, ...],
    shape: Callable[[Params, Shape], Shape],
    move: Callable[[Params, Array], Evaluation],
    formula: str,
) -> LayerSpec:
    def shapes_out(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        return (shape(params, shapes[0]),)

    def reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
        return (move(params, inputs[0]),)

    return LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=(1, 1),
        ranks=ranks,
        parameters=parameters,
        shape=shapes_out,
        weights=no_weights,
        reference=reference,
        formula=formula,
    )


def _size(shape: Shape) -> int | None:
    known = [size for size in shape if size is not None]
    return math.prod(known) if len(known) == len(shape) else None


# Flatten


def _flat_shape(params: Params, shape: Shape) -> Shape:
    channels_first(params)
    return (shape[0], _size(shape[1:]))


def _flatten(params: Params, x: Array) -> Evaluation:
    if channels_first(params) and x.ndim > 1:
        x = np.moveaxis(x, 1, -1)
    return exact(x.reshape(x.shape[0], math.prod(x.shape[1:])))


FLATTEN = _moving(
    "Flatten",
    (2, 3, 4),
    (_DATA_FORMAT,),
    _flat_shape,
    _flatten,
    "output = each sample as one row; channels_first inputs are turned to channels last before",
)


# Reshape


def _target(params: Params) -> tuple[int, ...]:
    target = params["target_shape"]
    if not isinstance(target, (tuple, list)) or not all(is_integer(size) and size >= -1 for size in target):
        refuse("target_shape", "a sequence of sizes, at most one of them -1", target)
    if list(target).count(-1) > 1:
        refuse("target_shape", "at most one size of -1", target)
    return tuple(target)


def _reshaped(params: Params, shape: Shape) -> Shape:
    target, total = _target(params), _size(shape[1:])
    if total is None:
        return (shape[0], *(None if size == -1 else size for size in target))
    fixed = math.prod(size for size in target if size != -1)
    fits = (fixed > 0 and total % fixed == 0) if -1 in target else fixed == total
    if not fits:
        raise ShapeError(
            f"Argument `target_shape`: expected {total} elements per sample. "
            f"Received: target_shape={target}, shape={shape}"
        )
    return (shape[0], *(total // fixed if size == -1 else size for size in target))


def _reshape(params: Params, x: Array) -> Evaluation:
    sizes = [size for size in _reshaped(params, x.shape) if size is not None]
    return exact(x.reshape(sizes))


RESHAPE = _moving(
    "Reshape",
    (2, 3, 4),
    (Parameter("target_shape", None, ((-1,), (-1, 2), (2, -1), (1, -1), (-1, 1)), ((-1, -1), (-2,)), required=True),),
    _reshaped,
    _reshape,
    "output = the same values in row-major order under another shape; the batch axis stays",
)


# Permute


def _dims(params: Params, rank: int) -> tuple[int, ...]:
    dims = params["dims"]
    if not isinstance(dims, (tuple, list)) or sorted(dims) != list(range(1, rank)):
        refuse("dims", f"a permutation of 1..{rank - 1}", dims)
    return tuple(dims)


def _permuted(params: Params, shape: Shape) -> Shape:
    return (shape[0], *(shape[axis] for axis in _dims(params, len(shape))))


PERMUTE = _moving(
    "Permute",
    (2, 3, 4),
    (
        Parameter(
            "dims",
            None,
            ((1,), (2, 1), (1, 2), (1, 3, 2), (2, 1, 3), (3, 1, 2), (2, 3, 1), (3, 2, 1)),
            ((0, 1), (1, 1), (2, 3)),
            required=True,
        ),
    ),
    _permuted,
    lambda params, x: exact(x.transpose(0, *_dims(params, x.ndim))),
    "output axis i is input axis dims[i], counted from 1; the batch axis stays",
)


# ZeroPadding2D and Cropping2D


def _margins(params: Params, margins: tuple[Pair, Pair]) -> list[Pair]:
    """(before, after) of all four axes."""
    per_axis: list[Pair] = [(0, 0)] * 4
    for axis, margin in zip(spatial_axes(params), margins, strict=True):
        per_axis[axis] = margin
    return per_axis


def _padded(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 4)
    margins = _margins(params, pair_of_pairs(params, "padding"))
    return tuple(None if size is None else size + sum(margin) for size, margin in zip(shape, margins, strict=True))


def _pad(params: Params, x: Array) -> Evaluation:
    return exact(np.pad(x, _margins(params, pair_of_pairs(params, "padding"))))


ZERO_PADDING2D = _moving(
    "ZeroPadding2D",
    (4,),
    (
        Parameter("padding", (1, 1), ((1, 1), 0, 2, (1, 2), ((1, 0), (0, 2))), (((-1, 0), (0, 0)), (1, 2, 3), 1.5)),
        _DATA_FORMAT,
    ),
    _padded,
    _pad,
    "output = the input with rows and columns of zeros around it",
)


def _cropped(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 4)
    margins = _margins(params, pair_of_pairs(params, "cropping"))
    for size, margin in zip(shape, margins, strict=True):
        if size is not None and sum(margin) >= size > 0:
            raise ShapeError(
                "Argument `cropping`: expected less than the spatial size. "
                f"Received: cropping={params['cropping']!r}, shape={shape}"
            )
    return tuple(None if size is None else size - sum(margin) for size, margin in zip(shape, margins, strict=True))


def _crop(params: Params, x: Array) -> Evaluation:
    margins = _margins(params, pair_of_pairs(params, "cropping"))
    return exact(x[tuple(slice(before, size - after) for size, (before, after) in zip(x.shape, margins, strict=True))])


CROPPING2D = _moving(
    "Cropping2D",
    (4,),
    (
        Parameter("cropping", ((0, 0), (0, 0)), (((0, 0), (0, 0)), 1, (1, 0), ((1, 0), (0, 2))), (-1, (1, 2, 3))),
        _DATA_FORMAT,
    ),
    _cropped,
    _crop,
    "output = the input without the given numbers of rows and columns at its borders",
)


# UpSampling2D


def _upsampled(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 4)
    choice(params, "interpolation", ("nearest", "bilinear"))
    result = list(shape)
    for axis, factor in zip(spatial_axes(params), pair(params, "size"), strict=True):
        size = shape[axis]
        result[axis] = None if size is None else size * factor
    return tuple(result)


def _blend(x: Evaluation, axis: int, factor: int) -> Evaluation:
    """Linear interpolation along one axis: output i lies at (i + 1/2) / factor - 1/2, clamped to the input."""
    size = x.value.shape[axis]
    place = np.clip((np.arange(size * factor) + 0.5) / factor - 0.5, 0, size - 1)
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


def _upsample(params: Params, x: Array) -> Evaluation:
    last, factors = to_last(params, x), pair(params, "size")
    if params["interpolation"] == "nearest":
        result = exact(last.repeat(factors[0], axis=1).repeat(factors[1], axis=2))
    else:
        result = _blend(_blend(exact(last), 1, factors[0]), 2, factors[1])
    return Evaluation(from_last(params, result.value), from_last(params, result.kappa))


UP_SAMPLING2D = _moving(
    "UpSampling2D",
    (4,),
    (
        Parameter("size", (2, 2), ((2, 2), 1, 3, (1, 2)), (0, -1, (2, 2, 2))),
        _DATA_FORMAT,
        Parameter("interpolation", "nearest", ("nearest", "bilinear"), ("cubist",)),
    ),
    _upsampled,
    _upsample,
    "output = the input enlarged by size, each value repeated or blended linearly between centres of cells",
)
