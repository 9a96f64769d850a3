"""Layers of several inputs: the elementwise ones and Concatenate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from ..core.arrays import Array
from .arguments import axis_of
from .masks import either, joined
from .rounding import exact, growth
from .spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights

_RANKS = (2, 3, 4)
Merge = Callable[[Sequence[Array]], Evaluation]


def _broadcast(sizes: Sequence[int | None], shapes: Sequence[Shape]) -> int | None:
    if None in sizes:
        return None
    distinct = {size for size in sizes if size != 1}
    if len(distinct) > 1:
        raise ShapeError(f"Expected inputs whose sizes are equal or 1 on each axis. Received: shapes={list(shapes)}")
    return distinct.pop() if distinct else 1


def _batch(shapes: Sequence[Shape]) -> int | None:
    sizes = {shape[0] for shape in shapes} - {None}
    if len(sizes) > 1:
        raise ShapeError(f"Expected inputs of one batch size. Received: shapes={list(shapes)}")
    return sizes.pop() if sizes else None


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Axes after the batch are aligned from the right, as when ones are inserted behind the batch axis."""
    rank = max(len(shape) for shape in shapes)
    widened = [(1,) * (rank - len(shape)) + shape[1:] for shape in shapes]
    return ((_batch(shapes), *(_broadcast(sizes, shapes) for sizes in zip(*widened, strict=True))),)


def _aligned(inputs: Sequence[Array]) -> list[Array]:
    rank = max(x.ndim for x in inputs)
    widened = [x.reshape(x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:]) for x in inputs]
    return list(np.broadcast_arrays(*widened))


def _layer(name: str, merge: Merge, formula: str, arity: tuple[int, int | None] = (2, None)) -> LayerSpec:
    def reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
        return (merge(_aligned(inputs)),)

    return LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=arity,
        ranks=_RANKS,
        parameters=(),
        shape=_shape,
        weights=no_weights,
        reference=reference,
        formula=formula,
        listed=True,
        masks=either,
    )


def _sum(terms: Sequence[Array]) -> Evaluation:
    magnitudes = [np.abs(term) for term in terms]
    return Evaluation(reduce(np.add, terms), growth(len(terms)) * reduce(np.add, magnitudes))


def _difference(terms: Sequence[Array]) -> Evaluation:
    return _sum([terms[0], -terms[1]])


def _product(factors: Sequence[Array]) -> Evaluation:
    value = reduce(np.multiply, factors)
    return Evaluation(value, len(factors) * np.abs(value))


def _mean(terms: Sequence[Array]) -> Evaluation:
    total = _sum(terms)
    return Evaluation(total.value / len(terms), total.kappa / len(terms))


ADD = _layer("Add", _sum, "output = the sum of the inputs")
SUBTRACT = _layer("Subtract", _difference, "output = the first input minus the second", (2, 2))
MULTIPLY = _layer("Multiply", _product, "output = the elementwise product of the inputs")
AVERAGE = _layer("Average", _mean, "output = the sum of the inputs divided by their number")
MAXIMUM = _layer(
    "Maximum", lambda terms: exact(reduce(np.maximum, terms)), "output = the largest of the inputs, elementwise"
)
MINIMUM = _layer(
    "Minimum", lambda terms: exact(reduce(np.minimum, terms)), "output = the smallest of the inputs, elementwise"
)


# Concatenate


def _concatenated(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    first = shapes[0]
    axis = axis_of(params["axis"], "axis", len(first))
    if any(len(shape) != len(first) for shape in shapes):
        raise ShapeError(f"Expected inputs of one rank. Received: shapes={list(shapes)}")
    return (tuple(_joined(shapes, index, index == axis) for index in range(len(first))),)


def _joined(shapes: Sequence[Shape], index: int, along: bool) -> int | None:
    sizes = [shape[index] for shape in shapes]
    known = [size for size in sizes if size is not None]
    if along:
        return sum(known) if len(known) == len(sizes) else None
    if len(set(known)) > 1:
        raise ShapeError(
            f"Expected equal sizes on axis {index}, which is not the concatenated one. Received: shapes={list(shapes)}"
        )
    return known[0] if known else None


def _concatenate(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    return (exact(np.concatenate(inputs, axis=axis_of(params["axis"], "axis", inputs[0].ndim))),)


CONCATENATE = LayerSpec(
    name="Concatenate",
    api="keras.layers.Concatenate",
    arity=(2, None),
    ranks=_RANKS,
    parameters=(Parameter("axis", -1, (-1, 1, 2), (7,)),),
    shape=_concatenated,
    weights=no_weights,
    reference=_concatenate,
    formula="output = the inputs one after the other along axis",
    listed=True,
    masks=joined,
)
