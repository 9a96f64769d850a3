"""Layers that move values: Flatten, Reshape, Permute, RepeatVector."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import channels_first, is_integer, need_rank, positive, refuse
from ..reference.rounding import exact
from ..spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights
from .spatial import DATA_FORMATS

DATA_FORMAT = Parameter("data_format", None, DATA_FORMATS, ("channels_middle",))


def moving_layer(
    name: str,
    ranks: tuple[int, ...],
    parameters: tuple[Parameter, ...],
    shape: Callable[[Params, Shape], Shape],
    move: Callable[[Params, Array], Evaluation],
    formula: str,
) -> LayerSpec:
    """A layer with one input, no weights and one output, which holds values of the input or blends of them."""

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


FLATTEN = moving_layer(
    "Flatten",
    (2, 3, 4, 5),
    (DATA_FORMAT,),
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


def _reshaped_shape(params: Params, shape: Shape) -> Shape:
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
    sizes = [size for size in _reshaped_shape(params, x.shape) if size is not None]
    return exact(x.reshape(sizes))


RESHAPE = moving_layer(
    "Reshape",
    (2, 3, 4, 5),
    (Parameter("target_shape", None, ((-1,), (-1, 2), (2, -1), (1, -1), (-1, 1)), ((-1, -1), (-2,)), required=True),),
    _reshaped_shape,
    _reshape,
    "output = the same values in row-major order under another shape; the batch axis stays",
)


# Permute


def _dims(params: Params, rank: int) -> tuple[int, ...]:
    dims = params["dims"]
    if not isinstance(dims, (tuple, list)) or sorted(dims) != list(range(1, rank)):
        refuse("dims", f"a permutation of 1..{rank - 1}", dims)
    return tuple(dims)


def _permuted_shape(params: Params, shape: Shape) -> Shape:
    return (shape[0], *(shape[axis] for axis in _dims(params, len(shape))))


PERMUTE = moving_layer(
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
    _permuted_shape,
    lambda params, x: exact(x.transpose(0, *_dims(params, x.ndim))),
    "output axis i is input axis dims[i], counted from 1; the batch axis stays",
)


# RepeatVector


def _repeated_shape(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 2)
    return (shape[0], positive(params, "n"), shape[1])


REPEAT_VECTOR = moving_layer(
    "RepeatVector",
    (2,),
    (Parameter("n", None, (1, 2, 5), (0, -1, 1.5, "2"), required=True),),
    _repeated_shape,
    lambda params, x: exact(np.repeat(x[:, None], positive(params, "n"), axis=1)),
    "output = the input n times, one under the other, along a new axis 1",
)
