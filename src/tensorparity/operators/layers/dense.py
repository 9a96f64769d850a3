"""Dense: the contraction of the last axis with a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import flag, known_size, positive
from ..functions import named_activations
from ..reference.rounding import growth
from ..spec import Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, WeightSpec
from .governed import governed
from .masks import passed_on

ACTIVATION = Parameter("activation", None, named_activations.NAMES, named_activations.INVALID_NAMES)
USE_BIAS = Parameter("use_bias", True, (True, False))


def biased(total: Evaluation, params: Params, weights: Mapping[str, Array], axis: int = -1) -> Evaluation:
    """Add the bias along ``axis`` if there is one, then apply the activation."""
    if flag(params, "use_bias"):
        along = [1] * total.value.ndim
        along[axis] = -1
        bias = weights["bias"].reshape(along)
        total = Evaluation(total.value + bias, total.kappa + np.abs(bias))
    return named_activations.apply(params["activation"], total)


def _shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    units = positive(params, "units")
    flag(params, "use_bias")
    named_activations.check_name(params["activation"])
    if len(shapes[0]) < 2:
        raise ShapeError(f"Expected an input of rank 2 or more, batch axis included. Received: shape={shapes[0]}")
    known_size(shapes[0], -1, "the last")
    return ((*shapes[0][:-1], units),)


def _weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    fan_in, units = known_size(shapes[0], -1, "the last"), positive(params, "units")
    found = {"kernel": WeightSpec((fan_in, units), "kernel", fan_in=fan_in)}
    if flag(params, "use_bias"):
        found["bias"] = WeightSpec((units,), "bias", fan_in=fan_in)
    return found


def _reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x, kernel = inputs[0], weights["kernel"]
    kappa = growth(kernel.shape[0]) * (np.abs(x) @ np.abs(kernel))
    return (biased(Evaluation(x @ kernel, kappa), params, weights),)


_DENSE = LayerSpec(
    name="Dense",
    api="keras.layers.Dense",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(
        Parameter("units", None, (1, 2, 3, 7, 16), (0, -1, 2.5, "3"), required=True),
        ACTIVATION,
        USE_BIAS,
    ),
    shape=_shape,
    weights=_weights,
    reference=_reference,
    formula="output = activation(input . kernel + bias), the product taken over the last axis of the input",
    masks=passed_on,
)
DENSE = governed(_DENSE, activity=True, kernel="kernel", bias="bias")
