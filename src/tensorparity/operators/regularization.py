"""Layers that pass their input on in inference, and Rescaling: Dropout, Identity, Rescaling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..core.arrays import Array
from ..core.jsontext import Json
from .arguments import is_integer, is_number, number, refuse
from .rounding import exact
from .spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights

_RANKS = (2, 3, 4)


def _pass(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    return (exact(inputs[0]),)


def _dropout_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    if not 0 <= number(params, "rate") <= 1:
        refuse("rate", "a number between 0 and 1", params["rate"])
    noise: Json = params["noise_shape"]
    if noise is not None:
        good = isinstance(noise, (tuple, list)) and all(
            size is None or (is_integer(size) and size > 0) for size in noise
        )
        if not good:
            refuse("noise_shape", "None or a sequence of positive sizes and None", noise)
    return (shapes[0],)


DROPOUT = LayerSpec(
    name="Dropout",
    api="keras.layers.Dropout",
    arity=(1, 1),
    ranks=_RANKS,
    parameters=(
        Parameter("rate", None, (0.0, 0.25, 0.5), (-0.1, 1.5), required=True),
        Parameter("noise_shape", None, (None,), ("same", (-1, 1))),
        Parameter("seed", None, (None, 0, 7)),
    ),
    shape=_dropout_shape,
    weights=no_weights,
    reference=_pass,
    formula="in inference, output = input; in training a share of rate is zeroed and the rest divided by 1 - rate",
    random=True,
)

IDENTITY = LayerSpec(
    name="Identity",
    api="keras.layers.Identity",
    arity=(1, 1),
    ranks=_RANKS,
    parameters=(),
    shape=lambda params, shapes: (shapes[0],),
    weights=no_weights,
    reference=_pass,
    formula="output = input",
)


def _factor(params: Params, name: str, rank: int) -> Array:
    """A number, or nested lists of them that broadcast against the last axes."""
    value: Json = params[name]
    if not is_number(value) and not isinstance(value, (tuple, list)):
        refuse(name, "a number or a list of them", value)
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(name, "a number or a list of them", value)
    if found.ndim > rank:
        refuse(name, f"at most {rank} axes", value)
    return found


def _rescaled_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    shape = shapes[0]
    for name in ("scale", "offset"):
        sizes = _factor(params, name, len(shape)).shape
        for size, own in zip(reversed(sizes), reversed(shape), strict=False):
            if size != 1 and own is not None and size != own:
                raise ShapeError(
                    f"Argument `{name}`: expected a size that broadcasts to the input. "
                    f"Received: {name}={params[name]!r}, shape={shape}"
                )
    return (shape,)


def _rescale(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    scaled, offset = x * _factor(params, "scale", x.ndim), _factor(params, "offset", x.ndim)
    return (Evaluation(scaled + offset, np.abs(scaled) + np.abs(offset)),)


RESCALING = LayerSpec(
    name="Rescaling",
    api="keras.layers.Rescaling",
    arity=(1, 1),
    ranks=_RANKS,
    parameters=(
        Parameter("scale", None, (1.0, 0.5, 1 / 255, -2.0), required=True),
        Parameter("offset", 0.0, (0.0, -1.0, 0.5)),
    ),
    shape=_rescaled_shape,
    weights=no_weights,
    reference=_rescale,
    formula="output = input * scale + offset",
)
