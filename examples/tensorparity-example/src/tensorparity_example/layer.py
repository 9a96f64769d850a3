"""The layer ``TinyHalve``: what it computes, for generators, references and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tensorparity.plugin import Array, Evaluation, LayerSpec, Params, Shape, no_weights


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    return (shapes[0],)


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    """Halving is exact, so that nothing but the rounding of the result is explained."""
    return (Evaluation(inputs[0] / 2, np.zeros_like(inputs[0])),)


TINY_HALVE = LayerSpec(
    name="TinyHalve",
    api="tiny.layers.Halve",
    arity=(1, 1),
    ranks=(2, 3, 4),
    parameters=(),
    shape=_shape,
    weights=no_weights,
    reference=_reference,
    formula="half of each number",
)
