"""Sequences of which some steps are to be left out, and the layers that say so, for layers that read a mask."""

from __future__ import annotations

import math

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ...operators.catalogue import layer
from ...operators.layers.nested import serialized_layer
from ...operators.spec import Domain, Params
from .assembly import Assembly, NetworkTensor
from .palettes import draw_values

#: The share of steps that a mask hides; and how often indices are masked rather than steps.
_HIDDEN, _BY_INDEX = 0.4, 0.25
#: How often another layer stands between, which hands the mask on.
_HANDED_ON = 0.3
_CARRIERS: tuple[tuple[str, dict[str, Json]], ...] = (
    ("Dense", {"units": 3}),
    ("LayerNormalization", {}),
    ("Activation", {"activation": "tanh"}),
    ("Rescaling", {"scale": 0.5}),
)
_INDICES = 5


def masked_sequence(
    net: Assembly, rng: np.random.Generator, shape: tuple[int, ...], style: str, params: Params
) -> NetworkTensor | None:
    """A fresh input of this shape, steps first, behind a mask; None where it did not come to be.

    Args:
        params: of the Masking layer.
    """
    if len(shape) == 2 and rng.random() < _BY_INDEX:
        indices = rng.integers(0, _INDICES, (net.batch, shape[0])).astype("int32")
        table = {"input_dim": _INDICES, "output_dim": shape[1], "mask_zero": True}
        found = net.add("Embedding", [net.input(indices)], table)
    else:
        steps = (shape[0], math.prod(shape[1:]))
        value = float(layer("Masking").complete(params)["mask_value"])
        drawn = draw_values(rng, (net.batch, *steps), Domain(), style)
        found = net.add("Masking", [net.input(hidden_in(rng, drawn, value))], params)
    if found is not None and rng.random() < _HANDED_ON:
        op, given = _CARRIERS[int(rng.integers(len(_CARRIERS)))]
        keeps = op != "Dense" or len(shape) == 2
        found = (net.add(op, [found], given) if keeps else None) or found
    if found is None or len(shape) == 2:
        return found
    inner = serialized_layer("Reshape", "reshape", target_shape=list(shape[1:]))
    return net.add("TimeDistributed", [found], {"layer": inner})


def hidden_in(rng: np.random.Generator, x: Array, value: float) -> Array:
    """Some steps of every row full of the value that masks them; never all, for then there is nothing to compute."""
    hidden = rng.random(x.shape[:2]) < _HIDDEN
    hidden[np.arange(len(x)), rng.integers(0, x.shape[1], len(x))] = False
    return np.where(hidden[..., None], np.asarray(value, x.dtype), x)
