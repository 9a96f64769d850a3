"""Functions of Keras that a layer does nothing but call: the layer's reference says what they should give, too.

Convolution and pooling are declared once, as layers, with every padding and stride; the function takes as arguments
what the layer holds as weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array, dtype_name
from ...core.call import TupleArg
from ...core.case import ApiCall, ArrayArg
from ...core.errors import TensorParityError
from ...core.graph import GraphBuilder
from ..reference.evaluate import evaluate_batches
from ..spec import Evaluation, ShapeError

_WINDOW = ("strides", "padding", "data_format")
_NAME = "layer"


@dataclass(frozen=True)
class _AsLayer:
    """How a function's arguments are those of a layer.

    Args:
        layer: its name without the number of dimensions; ``ending`` comes behind that.
        parameters: the arguments after the tensors, in the function's order.
        weights: the names of the tensors after the input.
        shaped: the parameters that the shapes of the weights say.
    """

    layer: str
    parameters: tuple[str, ...]
    weights: tuple[str, ...] = ()
    shaped: Callable[[Array, Sequence[Array], bool], dict[str, Any]] = lambda x, weights, first: {}
    ending: str = ""


def _of_convolution(x: Array, weights: Sequence[Array], channels_first: bool) -> dict[str, Any]:
    kernel, channels = weights[0], x.shape[1 if channels_first else -1]
    groups = channels // kernel.shape[-2]
    return {"filters": kernel.shape[-1], "kernel_size": list(kernel.shape[:-2]), "groups": groups, "use_bias": False}


def _of_depthwise(x: Array, weights: Sequence[Array], channels_first: bool) -> dict[str, Any]:
    kernel = weights[0]
    return {"kernel_size": list(kernel.shape[:-2]), "depth_multiplier": kernel.shape[-1], "use_bias": False}


def _of_transposed(x: Array, weights: Sequence[Array], channels_first: bool) -> dict[str, Any]:
    kernel = weights[0]
    return {"filters": kernel.shape[-2], "kernel_size": list(kernel.shape[:-2]), "use_bias": False}


_CONVOLVING = (*_WINDOW, "dilation_rate")
_FUNCTIONS: Mapping[str, _AsLayer] = {
    "keras.ops.max_pool": _AsLayer("MaxPooling", ("pool_size", *_WINDOW)),
    "keras.ops.average_pool": _AsLayer("AveragePooling", ("pool_size", *_WINDOW)),
    "keras.ops.conv": _AsLayer("Conv", _CONVOLVING, ("kernel",), _of_convolution),
    "keras.ops.depthwise_conv": _AsLayer("DepthwiseConv", _CONVOLVING, ("kernel",), _of_depthwise),
    "keras.ops.conv_transpose": _AsLayer(
        "Conv",
        ("strides", "padding", "output_padding", "data_format", "dilation_rate"),
        ("kernel",),
        _of_transposed,
        "Transpose",
    ),
}


def evaluate_as_layer(call: ApiCall, inputs: Mapping[str, Array]) -> Evaluation | None:
    """The true value by the reference of the layer that is this function; None for all other calls."""
    known = _FUNCTIONS.get(call.api)
    named = call.arrays()
    if known is None or len(named) != 1 + len(known.weights):
        return None
    x, *weights = (inputs[name] for name in named)
    try:
        with np.errstate(all="ignore"):
            return _evaluated(known, call, x, weights)
    except (TensorParityError, ShapeError, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError):
        return None


def _evaluated(known: _AsLayer, call: ApiCall, x: Array, weights: Sequence[Array]) -> Evaluation:
    given = _parameters(known, call)
    first = given.get("data_format") == "channels_first"
    params = {**known.shaped(x, weights, first), **given}
    op = f"{known.layer}{x.ndim - 2}D{known.ending}"
    build = GraphBuilder(op)
    source = build.input("x", x.shape[1:], dtype_name(x))
    graph = build.build(build.add(op, source, name=_NAME, **params))
    arrays = {f"{_NAME}/{name}": array for name, array in zip(known.weights, weights, strict=True)}
    found = evaluate_batches(graph, {"x": x}, arrays, None)
    ref = graph.outputs[0]
    return found[graph.node(ref.node).key][ref.index]


def _parameters(known: _AsLayer, call: ApiCall) -> dict[str, Any]:
    loose = [value for value in call.args if not isinstance(value, ArrayArg)]
    found = dict(zip(known.parameters, loose, strict=False))
    found |= {name: value for name, value in call.kwargs.items() if not isinstance(value, ArrayArg)}
    return {name: _listed(value) for name, value in found.items() if value is not None}


def _listed(value: Any) -> Any:
    if isinstance(value, TupleArg):
        value = value.items
    return list(value) if isinstance(value, tuple) else value
