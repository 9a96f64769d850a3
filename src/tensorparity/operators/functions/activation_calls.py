"""Activations called as functions, with arguments of their own: ``keras.activations``.

What a layer is given by name has the defaults of these functions alone; formulas are those of ``functions``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import number
from ..reference.rounding import exact
from ..spec import Evaluation, Parameter, Params, ruled_out
from . import named_activations

Apply = Callable[[Params, Evaluation], Evaluation]


@dataclass(frozen=True, slots=True)
class ActivationSpec:
    """One activation function.

    Args:
        reference: from complete parameters and the input.
        points: where the formula changes, beside 0 and the values of its own parameters.
        by_cases: told case by case, so that nothing is said of NaN.
        halves: the axis must have an even size.
    """

    name: str
    formula: str
    reference: Apply
    parameters: tuple[Parameter, ...] = ()
    points: tuple[float, ...] = ()
    by_cases: bool = False
    halves: bool = False

    @property
    def api(self) -> str:
        return f"keras.activations.{self.name}"

    @property
    def along_axis(self) -> bool:
        return any(parameter.name == "axis" for parameter in self.parameters)

    def complete(self, params: Params) -> dict[str, Json]:
        return {**{parameter.name: parameter.default for parameter in self.parameters}, **params}

    def invalid(self, params: Params) -> dict[str, Json]:
        """The parameters whose values the documentation rules out."""
        return ruled_out(self.parameters, params)

    def evaluate(self, params: Params, arrays: tuple[Array, ...]) -> Evaluation:
        """The value of the function, in float64."""
        with np.errstate(all="ignore"):
            return self.reference(self.complete(params), exact(arrays[0].astype(np.float64)))

    def plainly(self, params: Params, arrays: tuple[Array, ...]) -> Evaluation:
        """The formula in the input's own dtype, the narrow ones in float32, as a plain implementation has it."""
        inner = np.float64 if arrays[0].dtype == np.float64 else np.float32
        with np.errstate(all="ignore"):
            return self.reference(self.complete(params), exact(arrays[0].astype(inner)))


def _plain_activation(name: str, formula: str, *points: float, by_cases: bool = False) -> ActivationSpec:
    """A function without arguments of its own."""
    return ActivationSpec(name, formula, lambda params, x: named_activations.apply(name, x), (), points, by_cases)


def _relu(params: Params, x: Evaluation) -> Evaluation:
    limit, most = number(params, "threshold"), params["max_value"]
    found = named_activations.relu(None if most is None else float(most), number(params, "negative_slope"), limit)(x)
    if not limit:
        return found
    # The text damps what is below the threshold, the example in it what is at it, too.
    return Evaluation(found.value, np.where(x.value == limit, named_activations.EITHER_SIDE, found.kappa))


def _gelu(params: Params, x: Evaluation) -> Evaluation:
    return named_activations.gelu_tanh(x) if params["approximate"] else named_activations.apply("gelu", x)


# Limits are numbers of every floating dtype, so that an input can be exactly there.
_LIMITS = (0.5, 0.0, 1.0, 2.5)
_AXIS = (Parameter("axis", -1, (-1, 0, 1, -2), (7, "last")),)

_SPECS = (
    ActivationSpec(
        "relu",
        "max_value where x >= max_value, x where it is above threshold, negative_slope * (x - threshold) below it",
        _relu,
        (
            Parameter("negative_slope", 0.0, (0.0, 0.1, 0.5, 1.0), ("steep",)),
            Parameter("max_value", None, (None, 6.0, 2.5)),
            Parameter("threshold", 0.0, (0.0, 0.5, 1.0)),
        ),
        by_cases=True,
    ),
    ActivationSpec(
        "leaky_relu",
        "x where it is not negative, negative_slope * x elsewhere",
        lambda params, x: named_activations.leaky_relu(number(params, "negative_slope"))(x),
        (Parameter("negative_slope", 0.2, (0.2, 0.0, 0.01, 1.0, 2.0), ("steep",)),),
        by_cases=True,
    ),
    _plain_activation("relu6", "max(x, 0), and 6 at most", 6.0, by_cases=True),
    ActivationSpec(
        "softmax",
        "exp(x) over its sum along axis",
        lambda params, x: named_activations.softmax(x, (params["axis"],)),
        _AXIS,
    ),
    ActivationSpec(
        "log_softmax",
        "x minus the logarithm of the sum of exp(x) along axis",
        lambda params, x: named_activations.log_softmax(x, params["axis"]),
        _AXIS,
    ),
    ActivationSpec(
        "sparsemax",
        "max(x - tau, 0), with tau so that the sum along axis is 1",
        lambda params, x: named_activations.sparsemax(x, params["axis"]),
        _AXIS,
        by_cases=True,
    ),
    ActivationSpec(
        "glu",
        "a * sigmoid(b), a and b being the halves of x along axis",
        lambda params, x: named_activations.glu(x, params["axis"]),
        _AXIS,
        halves=True,
    ),
    ActivationSpec(
        "elu",
        "x where it is positive, alpha * (exp(x) - 1) elsewhere",
        lambda params, x: named_activations.elu(number(params, "alpha"))(x),
        (Parameter("alpha", 1.0, (1.0, 0.1, 2.0), ("steep",)),),
        by_cases=True,
    ),
    _plain_activation("selu", "elu with alpha = 1.67326324, times 1.05070098", by_cases=True),
    ActivationSpec(
        "celu",
        "x where it is not negative, alpha * (exp(x / alpha) - 1) elsewhere",
        lambda params, x: named_activations.celu(number(params, "alpha"))(x),
        (Parameter("alpha", 1.0, (1.0, 0.1, 2.0, 10.0), ("steep",)),),
        by_cases=True,
    ),
    ActivationSpec(
        "gelu",
        "x times the normal distribution function, or x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))",
        _gelu,
        (Parameter("approximate", False, (False, True)),),
    ),
    ActivationSpec(
        "squareplus",
        "(x + sqrt(x^2 + b)) / 2",
        lambda params, x: named_activations.squareplus(number(params, "b"))(x),
        (Parameter("b", 4, (4, 1, 0.25, 0, 100.0), ("smooth",)),),
    ),
    ActivationSpec(
        "soft_shrink",
        "x - threshold above threshold, x + threshold below -threshold, 0 between them",
        lambda params, x: named_activations.soft_shrink(number(params, "threshold"))(x),
        (Parameter("threshold", 0.5, _LIMITS, ("low",)),),
        by_cases=True,
    ),
    ActivationSpec(
        "hard_shrink",
        "x where |x| > threshold, else 0",
        lambda params, x: named_activations.hard_shrink(number(params, "threshold"))(x),
        (Parameter("threshold", 0.5, _LIMITS, ("low",)),),
        by_cases=True,
    ),
    ActivationSpec(
        "threshold",
        "x where it is above threshold, else default_value",
        lambda params, x: named_activations.threshold(number(params, "threshold"), number(params, "default_value"))(x),
        (
            Parameter("threshold", None, (*_LIMITS, -1.0), ("low",), required=True),
            Parameter("default_value", None, (0.0, -2.0, 0.1, 20.0), ("none",), required=True),
        ),
        by_cases=True,
    ),
    _plain_activation("sigmoid", "1 / (1 + exp(-x))"),
    _plain_activation("tanh", "sinh(x) / cosh(x)"),
    _plain_activation("softplus", "log(exp(x) + 1)"),
    _plain_activation("softsign", "x / (|x| + 1)"),
    _plain_activation("silu", "x * sigmoid(x)"),
    _plain_activation("swish", "x * sigmoid(x)"),
    _plain_activation("exponential", "exp(x)"),
    _plain_activation("log_sigmoid", "log(1 / (1 + exp(-x)))"),
    _plain_activation("mish", "x * tanh(softplus(x))"),
    _plain_activation("tanh_shrink", "x - tanh(x)"),
    _plain_activation("linear", "x"),
    _plain_activation("hard_sigmoid", "x / 6 + 1 / 2, between 0 and 1", -3.0, 3.0, by_cases=True),
    _plain_activation("hard_silu", "0 below -3, x above 3, x * (x + 3) / 6 between them", -3.0, 3.0, by_cases=True),
    _plain_activation("hard_swish", "0 below -3, x above 3, x * (x + 3) / 6 between them", -3.0, 3.0, by_cases=True),
    _plain_activation("hard_tanh", "x, but -1 at least and 1 at most", -1.0, 1.0, by_cases=True),
    _plain_activation("sparse_plus", "0 below -1, x above 1, (x + 1)^2 / 4 between them", -1.0, 1.0, by_cases=True),
    _plain_activation("sparse_sigmoid", "(x + 1) / 2, between 0 and 1", -1.0, 1.0, by_cases=True),
)

ACTIVATIONS: dict[str, ActivationSpec] = {spec.name: spec for spec in _SPECS}
