"""Embedding, which turns indices into rows of a table, and Masking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import flag, number, positive
from ..reference.rounding import exact
from ..spec import (
    Domain,
    Evaluation,
    LayerSpec,
    Mask,
    Parameter,
    Params,
    Shape,
    ShapeError,
    WeightSpec,
    no_weights,
)
from .governed import governed


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    positive(params, "input_dim")
    flag(params, "mask_zero")
    return ((*shapes[0], positive(params, "output_dim")),)


def _weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    table = (positive(params, "input_dim"), positive(params, "output_dim"))
    return {"embeddings": WeightSpec(table, "kernel", fan_in=2)}  # rows of unit variance: nothing is summed


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    rows, count = inputs[0].astype(np.int64), positive(params, "input_dim")  # fractions are cut off by the cast
    if rows.size and not (rows.min() >= 0 and rows.max() < count):
        raise ShapeError(
            f"Argument `input_dim`: expected indices from 0 to {count - 1}. Received: input_dim={count}, "
            f"indices from {rows.min()} to {rows.max()}"
        )
    return (exact(weights["embeddings"][rows]),)


def zeros_hidden(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    """A mask made of the indices themselves, if asked for; what mask they had is forgotten."""
    return (inputs[0] != 0,) if flag(params, "mask_zero") else ()


_EMBEDDING = LayerSpec(
    name="Embedding",
    api="keras.layers.Embedding",
    arity=(1, 1),
    ranks=(1, 2, 3),
    parameters=(
        Parameter("input_dim", None, (1, 3, 7, 20), (0, -1), required=True),
        Parameter("output_dim", None, (1, 2, 5), (0, -1), required=True),
        Parameter("mask_zero", False, (False, True)),
    ),
    shape=_shape,
    weights=_weights,
    reference=_reference,
    formula="output = the row of the table that each index names",
    domain=lambda params: Domain("int32", 0, positive(params, "input_dim")),
    discontinuous=True,
    masks=zeros_hidden,
    hazards=(
        "an index outside of the table raises, is clamped or gives NaN, by library",
        "mask_zero hides index 0 from the layers behind it; the values here are the same",
    ),
)
EMBEDDING = governed(_EMBEDDING, embeddings="embeddings")


# Masking


def _masked_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    number(params, "mask_value")
    if len(shapes[0]) < 2:
        raise ShapeError(f"Expected an input of rank 2 or more, batch axis included. Received: shape={shapes[0]}")
    return (shapes[0],)


def _mask(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    kept = np.any(x != number(params, "mask_value"), axis=-1, keepdims=True)
    return (exact(x * kept),)


def _steps_hidden(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    return (np.any(inputs[0] != number(params, "mask_value"), axis=-1),)


MASKING = LayerSpec(
    name="Masking",
    api="keras.layers.Masking",
    arity=(1, 1),
    ranks=(3, 4),
    parameters=(Parameter("mask_value", 0.0, (0.0, 1.0, -1.0), ("none",)),),
    shape=_masked_shape,
    weights=no_weights,
    reference=_mask,
    formula="output = the input, with the steps zeroed whose features all equal mask_value",
    stages=("inference", "training", "backward"),  # where nothing is hidden it is the identity
    discontinuous=True,
    masks=_steps_hidden,
    hazards=("layers behind it skip the steps it masks",),
)
