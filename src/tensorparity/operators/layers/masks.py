"""Where masks go: the rules by which a layer hands on which steps are to be left out.

A mask is a boolean array over the leading axes of a tensor, True where it counts; None stands for none at all. It is
no value of the graph: it is made of values by Masking or an embedding, and travels beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ...core.arrays import Array
from ..arguments import axis_of, flag
from ..spec import Mask, Params, ShapeError


def passed_on(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    """The first output has the mask of the first input."""
    return (masks[0],)


def passed_on_with_steps(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    """Recurrent layers: only a sequence can be masked."""
    return (masks[0],) if flag(params, "return_sequences") else ()


def either(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    """Elementwise merges: a step counts if any input's does; an input without a mask takes it from all."""
    known = [mask for mask in masks if mask is not None]
    if len(known) < len(masks):
        return ()
    try:
        return (reduce(np.logical_or, known),)
    except ValueError as error:
        raise ShapeError(f"Expected masks that broadcast. Received: shapes={[mask.shape for mask in known]}") from error


def joined(params: Params, inputs: Sequence[Array], masks: Sequence[Mask]) -> tuple[Mask, ...]:
    """Concatenate: each mask over its own part, all True where there is none; a step counts if any feature does."""
    if all(mask is None for mask in masks):
        return ()
    spread = [_over(x, mask) for x, mask in zip(inputs, masks, strict=True)]
    whole = np.concatenate(spread, axis=axis_of(params["axis"], "axis", inputs[0].ndim))
    return (np.any(whole, axis=-1),)


def _over(x: Array, mask: Mask) -> Array:
    if mask is None:
        return np.ones(x.shape, dtype=bool)
    if mask.ndim != x.ndim - 1:
        raise ShapeError(f"Expected a mask of one axis less than the input. Received: {mask.shape} for {x.shape}")
    return np.broadcast_to(mask[..., None], x.shape)


def steps_shown(x: Array, mask: Mask) -> Array | None:
    """A mask of (batch, steps), the only one that layers over steps document.

    Raises:
        ShapeError: if it is another.
    """
    if mask is not None and mask.shape != x.shape[:2]:
        raise ShapeError(f"Expected a mask of shape {x.shape[:2]}. Received: {mask.shape}")
    return mask
