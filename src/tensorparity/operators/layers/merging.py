"""Layers of several inputs: the elementwise ones and Concatenate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from ...core.arrays import Array
from ..arguments import axis_of
from ..reference.rounding import exact, growth, unit_of
from ..spec import Evaluation, LayerSpec, Mask, Masked, Parameter, Params, Shape, ShapeError, no_weights
from .masks import either, joined

_RANKS = (2, 3, 4, 5)
Merge = Callable[[Sequence[Array]], Evaluation]
Choose = Callable[[Array, Array], Array]


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


def _layer(
    name: str,
    merge: Merge,
    formula: str,
    arity: tuple[int, int | None] = (2, None),
    masked: Masked | None = None,
) -> LayerSpec:
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
        masked=masked,
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
    unit = reduce(np.maximum, [unit_of(term, ()) for term in terms])
    total = _sum([term / unit for term in terms])
    return Evaluation(total.value / len(terms) * unit, total.kappa / len(terms) * unit)


def _full_masks(inputs: Sequence[Array], masks: Sequence[Mask]) -> list[Array | None]:
    """The masks over all features of inputs of one shape."""
    if len({x.shape for x in inputs}) > 1:
        raise ShapeError("Expected masked inputs of one shape: how masks broadcast is nowhere said")
    if any(mask is not None and mask.shape != inputs[0].shape[:-1] for mask in masks):
        raise ShapeError("Expected masks of one axis less than the inputs")
    return [None if mask is None else np.broadcast_to(mask[..., None], inputs[0].shape) for mask in masks]


def _masked_product(
    params: Params, inputs: Sequence[Array], weights: Mapping[str, Array], masks: Sequence[Mask], training: bool
) -> tuple[Evaluation, ...]:
    """What is hidden is no factor; what is hidden in all inputs is 0."""
    shown = _full_masks(inputs, masks)
    found = _product([x if mask is None else np.where(mask, x, 1.0) for x, mask in zip(inputs, shown, strict=True)])
    known = [mask for mask in shown if mask is not None]
    anywhere = reduce(np.logical_or, known) if len(known) == len(shown) else np.ones((), dtype=bool)
    return (Evaluation(np.where(anywhere, found.value, 0.0), np.where(anywhere, found.kappa, 0.0)),)


def _masked_extreme(choose: Choose) -> Masked:
    """Of what is shown; of what is hidden everywhere, the first."""

    def masked(
        params: Params, inputs: Sequence[Array], weights: Mapping[str, Array], masks: Sequence[Mask], training: bool
    ) -> tuple[Evaluation, ...]:
        shown = _full_masks(inputs, masks)
        output, kept = inputs[0], shown[0]
        for x, mask in zip(inputs[1:], shown[1:], strict=True):
            x = x if mask is None else np.where(mask, x, output)
            output = output if kept is None else np.where(kept, output, x)
            kept = None if mask is None or kept is None else kept | mask
            output = choose(output, x)
        return (exact(output),)

    return masked


ADD = _layer("Add", _sum, "output = the sum of the inputs")
SUBTRACT = _layer("Subtract", _difference, "output = the first input minus the second", (2, 2))
MULTIPLY = _layer("Multiply", _product, "output = the elementwise product of the inputs", masked=_masked_product)
AVERAGE = _layer("Average", _mean, "output = the sum of the inputs divided by their number")
MAXIMUM = _layer(
    "Maximum",
    lambda terms: exact(reduce(np.maximum, terms)),
    "output = the largest of the inputs, elementwise",
    masked=_masked_extreme(np.maximum),
)
MINIMUM = _layer(
    "Minimum",
    lambda terms: exact(reduce(np.minimum, terms)),
    "output = the smallest of the inputs, elementwise",
    masked=_masked_extreme(np.minimum),
)


# Concatenate


def _concatenated_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    first = shapes[0]
    axis = axis_of(params["axis"], "axis", len(first))
    if any(len(shape) != len(first) for shape in shapes):
        raise ShapeError(f"Expected inputs of one rank. Received: shapes={list(shapes)}")
    return (tuple(_joined_size(shapes, index, index == axis) for index in range(len(first))),)


def _joined_size(shapes: Sequence[Shape], index: int, along: bool) -> int | None:
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
    shape=_concatenated_shape,
    weights=no_weights,
    reference=_concatenate,
    formula="output = the inputs one after the other along axis",
    listed=True,
    masks=joined,
)
