"""Activations as layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import known_size, number, refuse, sample_axes
from ..functions import named_activations
from ..reference.rounding import exact
from ..spec import (
    Evaluation,
    LayerSpec,
    Mask,
    Masked,
    Parameter,
    Params,
    Shape,
    ShapeError,
    WeightSpec,
    no_weights,
    nothing_unsaid,
)
from .governed import governed
from .masks import passed_on

_RANKS = (2, 3, 4, 5)
#: The exponential of what is so far below is 0.
_FAR_BELOW = 2000.0
Check = Callable[[Params, Shape], None]
Apply = Callable[[Params, Evaluation], Evaluation]


def _layer(
    name: str,
    parameters: tuple[Parameter, ...],
    check: Check,
    apply: Apply,
    formula: str,
    *hazards: str,
    masked: Masked | None = None,
    unsaid: Callable[[Params], str] = nothing_unsaid,
) -> LayerSpec:
    """A layer with one input, no weights and an output of the same shape."""

    def shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        check(params, shapes[0])
        return (shapes[0],)

    def reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
        return (apply(params, exact(inputs[0])),)

    return LayerSpec(
        name=name,
        api=f"keras.layers.{name}",
        arity=(1, 1),
        ranks=_RANKS,
        parameters=parameters,
        shape=shape,
        weights=no_weights,
        reference=reference,
        formula=formula,
        masked=masked,
        masks=passed_on,
        hazards=hazards,
        unsaid=unsaid,
    )


ACTIVATION = _layer(
    "Activation",
    (Parameter("activation", None, named_activations.NAMES, named_activations.INVALID_NAMES, required=True),),
    lambda params, shape: named_activations.check_name(params["activation"]),
    lambda params, x: named_activations.apply(params["activation"], x),
    "output = the named function of the input",
    "softmax and log_softmax work on the last axis, also when channels come first",
)


def _check_relu(params: Params, shape: Shape) -> None:
    if params["max_value"] is not None:
        number(params, "max_value", least=0.0)
    number(params, "negative_slope", least=0.0)
    number(params, "threshold", least=0.0)


def _unsaid_of_relu(params: Params) -> str:
    top: Json = params["max_value"]
    overlap = top is not None and float(top) < number(params, "threshold")
    return "its cases contradict each other where max_value is below threshold" if overlap else ""


def _relu(params: Params, x: Evaluation) -> Evaluation:
    top: Json = params["max_value"]
    return named_activations.relu(
        None if top is None else float(top), number(params, "negative_slope"), number(params, "threshold")
    )(x)


RELU = _layer(
    "ReLU",
    (
        Parameter("max_value", None, (None, 6.0, 1.0, 0.0, 2.5), (-1.0,)),
        Parameter("negative_slope", 0.0, (0.0, 0.1, 0.5, 1.0), (-0.5, None)),
        Parameter("threshold", 0.0, (0.0, 0.1, 1.0), (-1.0, None)),
    ),
    _check_relu,
    _relu,
    (
        "output = max_value where input >= max_value, the input where it is at least threshold, and "
        "negative_slope * (input - threshold) below"
    ),
    "with a threshold above 0 the output jumps there, and the documentation's >= is a > in the code",
    "a max_value below the threshold contradicts itself, and has no reference",
    unsaid=_unsaid_of_relu,
)


def _check_leaky(params: Params, shape: Shape) -> None:
    number(params, "negative_slope", least=0.0)


LEAKY_RELU = _layer(
    "LeakyReLU",
    (Parameter("negative_slope", 0.3, (0.3, 0.0, 0.01, 1.0, 2.0), (-0.5, None)),),
    _check_leaky,
    lambda params, x: named_activations.leaky_relu(number(params, "negative_slope"))(x),
    "output = the input where it is not negative, negative_slope times it elsewhere",
)


def _check_elu(params: Params, shape: Shape) -> None:
    number(params, "alpha")


ELU = _layer(
    "ELU",
    (Parameter("alpha", 1.0, (1.0, 0.1, 2.0)),),
    _check_elu,
    lambda params, x: named_activations.elu(number(params, "alpha"))(x),
    "output = the input above 0, alpha * (exp(input) - 1) elsewhere",
)


def _check_softmax(params: Params, shape: Shape) -> None:
    sample_axes(params["axis"], "axis", len(shape))


def _masked_softmax(
    params: Params, inputs: Sequence[Array], weights: Mapping[str, Array], masks: Sequence[Mask], training: bool
) -> tuple[Evaluation, ...]:
    """Over what the mask shows; the rest is exactly 0."""
    x, mask = inputs[0], masks[0]
    axes = sample_axes(params["axis"], "axis", x.ndim)
    if mask is None:
        return (named_activations.softmax(exact(x), axes),)
    sizes = zip(reversed(mask.shape), reversed(x.shape), strict=False)
    if mask.ndim > x.ndim or not all(size in (1, own) for size, own in sizes):
        raise ShapeError(f"Expected a mask that broadcasts to the input. Received: {mask.shape} for {x.shape}")
    shown = np.broadcast_to(mask, x.shape)
    least = np.min(x, initial=0.0) - _FAR_BELOW
    found = named_activations.softmax(exact(np.where(shown, x, least)), axes)
    return (Evaluation(np.where(shown, found.value, 0.0), np.where(shown, found.kappa, 0.0)),)


SOFTMAX = _layer(
    "Softmax",
    (Parameter("axis", -1, (-1, 1, (-2, -1)), (7,)),),
    _check_softmax,
    lambda params, x: named_activations.softmax(x, sample_axes(params["axis"], "axis", x.value.ndim)),
    "output = exp(input) / the sum of exp(input) over the given axis or axes",
    masked=_masked_softmax,
)


# PReLU


def _prelu_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    """One slope per entry of a sample; a shared axis has one for all of its entries."""
    shape, shared = shapes[0], params["shared_axes"]
    if shared is not None and not isinstance(shared, (tuple, list)):
        refuse("shared_axes", "None or a sequence of axes", shared)
    axes = sample_axes(shared, "shared_axes", len(shape)) if shared else ()
    sizes = (1 if axis in axes else known_size(shape, axis, "not shared") for axis in range(1, len(shape)))
    return {"alpha": WeightSpec(tuple(sizes), "offset")}


def _prelu_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    if len(shapes[0]) < 2:
        raise ShapeError(f"Expected an input of rank 2 or more, batch axis included. Received: shape={shapes[0]}")
    _prelu_weights(params, shapes)
    return (shapes[0],)


def _prelu(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x, alpha = inputs[0], weights["alpha"]
    return (Evaluation(np.where(x < 0, alpha * x, x), np.where(x < 0, np.abs(alpha * x), 0.0)),)


_PRELU = LayerSpec(
    name="PReLU",
    api="keras.layers.PReLU",
    arity=(1, 1),
    ranks=_RANKS,
    parameters=(Parameter("shared_axes", None, (None, (1,), (1, 2)), ((7,), "all")),),
    shape=_prelu_shape,
    weights=_prelu_weights,
    reference=_prelu,
    formula="output = the input where it is not negative, alpha times it elsewhere, alpha being learned",
    masks=passed_on,
)
PRELU = governed(_PRELU, alpha="alpha")
