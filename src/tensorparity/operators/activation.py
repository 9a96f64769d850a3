"""Activations as layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..core.arrays import Array
from ..core.jsontext import Json
from . import functions
from .arguments import number, sample_axes
from .rounding import exact
from .spec import Evaluation, LayerSpec, Parameter, Params, Shape, no_weights

_RANKS = (2, 3, 4)
Check = Callable[[Params, Shape], None]
Apply = Callable[[Params, Evaluation], Evaluation]


def _layer(
    name: str, parameters: tuple[Parameter, ...], check: Check, apply: Apply, formula: str, *hazards: str
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
        hazards=hazards,
    )


ACTIVATION = _layer(
    "Activation",
    (Parameter("activation", None, functions.NAMES, functions.INVALID_NAMES, required=True),),
    lambda params, shape: functions.check_name(params["activation"]),
    lambda params, x: functions.apply(params["activation"], x),
    "output = the named function of the input",
    "softmax and log_softmax work on the last axis, also when channels come first",
)


def _check_relu(params: Params, shape: Shape) -> None:
    if params["max_value"] is not None:
        number(params, "max_value", least=0.0)
    number(params, "negative_slope", least=0.0)
    number(params, "threshold", least=0.0)


def _relu(params: Params, x: Evaluation) -> Evaluation:
    top: Json = params["max_value"]
    return functions.relu(
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
    "a max_value below the threshold is documented only by the order of the cases",
)


def _check_leaky(params: Params, shape: Shape) -> None:
    number(params, "negative_slope", least=0.0)


LEAKY_RELU = _layer(
    "LeakyReLU",
    (Parameter("negative_slope", 0.3, (0.3, 0.0, 0.01, 1.0, 2.0), (-0.5, None)),),
    _check_leaky,
    lambda params, x: functions.leaky_relu(number(params, "negative_slope"))(x),
    "output = the input where it is not negative, negative_slope times it elsewhere",
)


def _check_elu(params: Params, shape: Shape) -> None:
    number(params, "alpha")


ELU = _layer(
    "ELU",
    (Parameter("alpha", 1.0, (1.0, 0.1, 2.0)),),
    _check_elu,
    lambda params, x: functions.elu(number(params, "alpha"))(x),
    "output = the input above 0, alpha * (exp(input) - 1) elsewhere",
)


def _check_softmax(params: Params, shape: Shape) -> None:
    sample_axes(params["axis"], "axis", len(shape))


SOFTMAX = _layer(
    "Softmax",
    (Parameter("axis", -1, (-1, 1, (-2, -1)), (7,)),),
    _check_softmax,
    lambda params, x: functions.softmax(x, sample_axes(params["axis"], "axis", x.value.ndim)),
    "output = exp(input) / the sum of exp(input) over the given axis or axes",
)
