"""Adaptive pooling: windows chosen so that the output has a given size, over one, two and three axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import need_rank, sizes
from ..reference.rounding import growth, mean_over
from ..spec import FLOATS, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights
from .reshaping import DATA_FORMAT
from .spatial import from_last, spatial_axes, to_last

Pool = Callable[[Evaluation, int, int], Evaluation]

_SIZES: dict[int, tuple[Json, ...]] = {1: (1, 2, 3), 2: (1, 2, 3, (2, 3)), 3: (1, 2, (1, 2, 3))}


def _bins(size: int, count: int) -> list[slice]:
    """Bin i runs from floor(i size / count) to ceil((i + 1) size / count): bins may overlap by one."""
    return [slice(index * size // count, -(-(index + 1) * size // count)) for index in range(count)]


def _shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], dims + 2)
    result = list(shapes[0])
    for axis, count in zip(spatial_axes(params, dims), sizes(params, "output_size", dims), strict=True):
        size = shapes[0][axis]
        if size is not None and size < count:
            raise ShapeError(
                f"Argument `output_size`: expected at most the size of the input. Received: "
                f"output_size={params['output_size']!r}, shape={shapes[0]}"
            )
        result[axis] = count
    return (tuple(result),)


def _mean(x: Evaluation, axis: int, count: int) -> Evaluation:
    values, kappas = [], []
    for part in _bins(x.value.shape[axis], count):
        seen = (slice(None),) * axis + (part,)
        inputs, carried = x.value[seen], x.kappa[seen]
        values.append(mean_over(inputs, axis))
        kappas.append(mean_over(carried, axis) + growth(inputs.shape[axis]) * mean_over(np.abs(inputs), axis))
    return Evaluation(np.stack(values, axis=axis), np.stack(kappas, axis=axis))


def _largest(x: Evaluation, axis: int, count: int) -> Evaluation:
    parts = [x.value[(slice(None),) * axis + (part,)] for part in _bins(x.value.shape[axis], count)]
    value = np.stack([np.max(part, axis=axis) for part in parts], axis=axis)
    return Evaluation(value, np.zeros_like(value))


def _reference(
    dims: int, pool: Pool, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    x = to_last(params, inputs[0])
    found = Evaluation(x, np.zeros_like(x))
    for axis, count in enumerate(sizes(params, "output_size", dims), start=1):
        found = pool(found, axis, count)
    return (Evaluation(from_last(params, found.value), from_last(params, found.kappa)),)


def _adaptive(name: str, dims: int, pool: Pool, formula: str) -> LayerSpec:
    return LayerSpec(
        name=f"{name}{dims}D",
        api=f"keras.layers.{name}{dims}D",
        arity=(1, 1),
        ranks=(dims + 2,),
        dtypes=("float32", "bfloat16") if dims == 3 else FLOATS,  # TensorFlow's on CPUs
        parameters=(
            Parameter("output_size", None, _SIZES[dims], (0, -1, (2,) * (dims + 1)), required=True),
            DATA_FORMAT,
        ),
        shape=partial(_shape, dims),
        weights=no_weights,
        reference=partial(_reference, dims, pool),
        formula=formula,
        hazards=("where the sizes do not divide, neighbouring bins share an entry",),
    )


def _average(dims: int) -> LayerSpec:
    return _adaptive(
        "AdaptiveAveragePooling",
        dims,
        _mean,
        "output = the mean of each channel in bin i of n, from floor(i size / n) to ceil((i + 1) size / n)",
    )


def _max(dims: int) -> LayerSpec:
    return _adaptive(
        "AdaptiveMaxPooling",
        dims,
        _largest,
        "output = the largest of each channel in bin i of n, from floor(i size / n) to ceil((i + 1) size / n)",
    )


ADAPTIVE_AVERAGE_POOLING1D, ADAPTIVE_AVERAGE_POOLING2D = _average(1), _average(2)
ADAPTIVE_AVERAGE_POOLING3D = _average(3)
ADAPTIVE_MAX_POOLING1D, ADAPTIVE_MAX_POOLING2D, ADAPTIVE_MAX_POOLING3D = _max(1), _max(2), _max(3)
