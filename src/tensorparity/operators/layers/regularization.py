"""Layers that pass their input on in inference: the kinds of dropout and noise, Identity; and Rescaling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import channels_first, is_integer, is_number, number, refuse
from ..reference.rounding import exact
from ..spec import Domain, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, any_float, no_weights
from .masks import passed_on
from .spatial import DATA_FORMATS

_RANKS = (2, 3, 4, 5)
Check = Callable[[Params], None]


def _pass(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    return (exact(inputs[0]),)


def _share(params: Params, name: str) -> None:
    if not 0 <= number(params, name) <= 1:
        refuse(name, "a number between 0 and 1", params[name])


def passing_layer(
    name: str,
    ranks: tuple[int, ...],
    parameters: tuple[Parameter, ...],
    check: Check,
    formula: str,
    *,
    random: bool,
    domain: Callable[[Params], Domain] = any_float,
    stages: tuple[str, ...] = (),
) -> LayerSpec:
    """A layer whose output in inference is its input."""

    def shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        if len(shapes[0]) not in ranks:
            raise ShapeError(f"Expected an input of rank {ranks}, batch axis included. Received: shape={shapes[0]}")
        check(params)
        return (shapes[0],)

    return LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=(1, 1),
        ranks=ranks,
        parameters=parameters,
        shape=shape,
        weights=no_weights,
        reference=_pass,
        formula=formula,
        domain=domain,
        random=random,
        stages=stages,
        masks=passed_on,
    )


def _check_dropout(params: Params) -> None:
    _share(params, "rate")
    noise: Json = params["noise_shape"]
    if noise is not None:
        good = isinstance(noise, (tuple, list)) and all(
            size is None or (is_integer(size) and size > 0) for size in noise
        )
        if not good:
            refuse("noise_shape", "None or a sequence of positive sizes and None", noise)


_RATE = Parameter("rate", None, (0.0, 0.25, 0.5), (-0.1, 1.5), required=True)
_NOISE_SHAPE = Parameter("noise_shape", None, (None,), ("same", (-1, 1)))
SEED = Parameter("seed", None, (None, 0, 7))

DROPOUT = passing_layer(
    "Dropout",
    _RANKS,
    (_RATE, _NOISE_SHAPE, SEED),
    _check_dropout,
    "in inference, output = input; in training a share of rate is zeroed and the rest divided by 1 - rate",
    random=True,
)
ALPHA_DROPOUT = passing_layer(
    "AlphaDropout",
    _RANKS,
    (_RATE, Parameter("noise_shape", None, (None,)), SEED),
    _check_dropout,
    "in inference, output = input; in training a share of rate takes SELU's lower limit, and mean and variance stay",
    random=True,
)
GAUSSIAN_DROPOUT = passing_layer(
    "GaussianDropout",
    _RANKS,
    (_RATE, SEED),
    lambda params: _share(params, "rate"),
    "in inference, output = input; in training times normal numbers of mean 1 and variance rate / (1 - rate)",
    random=True,
)
GAUSSIAN_NOISE = passing_layer(
    "GaussianNoise",
    _RANKS,
    (Parameter("stddev", None, (0.0, 0.1, 1.0), (-0.1, 1.5), required=True), SEED),
    lambda params: _share(params, "stddev"),
    "in inference, output = input; in training plus normal numbers of mean 0 and standard deviation stddev",
    random=True,
)


def _spatial_dropout(dims: int) -> LayerSpec:
    def check(params: Params) -> None:
        _share(params, "rate")
        if dims > 1:
            channels_first(params)

    layout = (Parameter("data_format", None, DATA_FORMATS, ("channels_middle",)),) if dims > 1 else ()
    return passing_layer(
        f"SpatialDropout{dims}D",
        (dims + 2,),
        (_RATE, *layout, SEED),
        check,
        "in inference, output = input; in training as dropout, but a channel is zeroed or kept as a whole",
        random=True,
    )


SPATIAL_DROPOUT1D, SPATIAL_DROPOUT2D, SPATIAL_DROPOUT3D = (_spatial_dropout(dims) for dims in (1, 2, 3))


def _check_penalty(params: Params) -> None:
    number(params, "l1")
    number(params, "l2")


_ACTIVITY_REGULARIZATION = passing_layer(
    "ActivityRegularization",
    _RANKS,
    (Parameter("l1", 0.0, (0.0, 0.125), ("much",)), Parameter("l2", 0.0, (0.0, 0.125), ("much",))),
    _check_penalty,
    "output = input; l1 * sum |input| + l2 * sum input^2, divided by the size of the batch, joins the loss",
    random=False,
    stages=("inference", "training", "loss", "backward"),
)
ACTIVITY_REGULARIZATION = replace(
    _ACTIVITY_REGULARIZATION,
    activity=lambda params: {"class_name": "L1L2", "config": {"l1": params["l1"], "l2": params["l2"]}},
)

IDENTITY = passing_layer("Identity", _RANKS, (), lambda params: None, "output = input", random=False)


# Rescaling


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
    masks=passed_on,
)
