"""Shapes of what is merged: one for all inputs, as in the paper, or others where the layer takes them, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.jsontext import Json
from ...operators.spec import Params

#: How often inputs of a merge are not all of one shape.
_APART = 0.25
_ELEMENTWISE = ("Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract")
_ATTENDING = ("AdditiveAttention", "Attention", "GroupQueryAttention", "MultiHeadAttention")

_Shape = tuple[int, ...]


def merged_shapes(rng: np.random.Generator, op: str, params: Params, shape: _Shape, count: int) -> list[_Shape]:
    """A shape for each input, without the batch axis: that of the first, or at times another that goes with it.

    Args:
        params: complete.
    """
    same = [shape] * count
    if count < 2 or rng.random() >= _APART:
        return same
    if op in _ELEMENTWISE:
        return _broadcast(rng, same)
    if op == "Concatenate":
        return _longer(rng, same, params["axis"])
    if op in _ATTENDING and len(shape) == 2:  # values and keys of other steps than the queries
        return [shape, *[(shape[0] + int(rng.choice((1, 2))), shape[1])] * (count - 1)]
    return same


def _broadcast(rng: np.random.Generator, shapes: Sequence[_Shape]) -> list[_Shape]:
    """One of the inputs has ones for some of its sizes, or lacks its first axes."""
    index, shape = int(rng.integers(len(shapes))), shapes[0]
    if len(shape) > 1 and rng.random() < 0.5:
        other = shape[int(rng.integers(1, len(shape))) :]
    else:
        narrow = rng.random(len(shape)) < 0.5
        narrow[int(rng.integers(len(shape)))] = True
        other = tuple(1 if one else size for one, size in zip(narrow, shape, strict=True))
    return [other if place == index else shape for place, shape in enumerate(shapes)]


def _longer(rng: np.random.Generator, shapes: Sequence[_Shape], axis: Json) -> list[_Shape]:
    """The last of the inputs has another size along the axis."""
    shape = shapes[0]
    place = axis - 1 if axis > 0 else len(shape) + axis  # the batch axis is not among these
    if not 0 <= place < len(shape):
        return list(shapes)
    other = (*shape[:place], shape[place] + int(rng.choice((1, 2))), *shape[place + 1 :])
    return [*shapes[:-1], other]
