"""Activation functions and activation layers as ONNX operators.

The runtime's own operator is taken wherever there is one: it is what makes ONNX Runtime an
implementation of its own. What has none is composed from the documented formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...core.jsontext import Json
from ...operators.arguments import axes_of, number
from .onnx_graph import Lowering, OnnxCall, inverse
from .protobuf import Attribute
from .refusal import Refusal

#: These work along the last axis of the layer's own data format, so they come after any transposition back.
ALONG_LAST_AXIS = frozenset({"softmax", "log_softmax"})

Activate = Callable[[OnnxCall, str], str]


def _native(op: str, **attributes: Attribute) -> Activate:
    return lambda call, x: call.emit(op, x, **attributes)


def _relu6(call: OnnxCall, x: str) -> str:
    return _clip(call, x, 6.0)


def _clip(call: OnnxCall, x: str, top: float) -> str:
    return call.emit("Clip", x, call.numbers(0.0), call.numbers(top))


def _silu(call: OnnxCall, x: str) -> str:
    return call.emit("Mul", x, call.emit("Sigmoid", x))


def _hard_tanh(call: OnnxCall, x: str) -> str:
    return call.emit("Clip", x, call.numbers(-1.0), call.numbers(1.0))


def _log_sigmoid(call: OnnxCall, x: str) -> str:
    return call.emit("Neg", call.emit("Softplus", call.emit("Neg", x)))


def _tanh_shrink(call: OnnxCall, x: str) -> str:
    return call.emit("Sub", x, call.emit("Tanh", x))


def _sparse_plus(call: OnnxCall, x: str) -> str:
    one = call.numbers(1.0)
    raised = call.emit("Add", x, one)
    middle = call.emit("Mul", call.emit("Mul", raised, raised), call.numbers(0.25))
    above = call.emit("Where", call.emit("GreaterOrEqual", x, one), x, middle)
    return call.emit("Where", call.emit("LessOrEqual", x, call.numbers(-1.0)), call.numbers(0.0), above)


def _sparse_sigmoid(call: OnnxCall, x: str) -> str:
    return _clip(call, call.emit("Mul", call.emit("Add", x, call.numbers(1.0)), call.numbers(0.5)), 1.0)


def _squareplus(call: OnnxCall, x: str) -> str:
    root = call.emit("Sqrt", call.emit("Add", call.emit("Mul", x, x), call.numbers(4.0)))
    return call.emit("Mul", call.emit("Add", x, root), call.numbers(0.5))


ACTIVATIONS: dict[str, Activate] = {
    "relu": _native("Relu"),
    "relu6": _relu6,
    "leaky_relu": _native("LeakyRelu", alpha=0.2),
    "sigmoid": _native("Sigmoid"),
    "tanh": _native("Tanh"),
    "softmax": _native("Softmax", axis=-1),
    "log_softmax": _native("LogSoftmax", axis=-1),
    "softplus": _native("Softplus"),
    "softsign": _native("Softsign"),
    "elu": _native("Elu", alpha=1.0),
    "selu": _native("Selu"),  # its default constants are the documented ones, rounded to float32
    "gelu": _native("Gelu"),
    "silu": _silu,
    "swish": _silu,
    "exponential": _native("Exp"),
    "hard_sigmoid": _native("HardSigmoid", alpha=1.0 / 6.0, beta=0.5),
    "celu": _native("Celu", alpha=1.0),
    "hard_shrink": _native("Shrink", lambd=0.5, bias=0.0),
    "hard_silu": _native("HardSwish"),
    "hard_swish": _native("HardSwish"),
    "hard_tanh": _hard_tanh,
    "log_sigmoid": _log_sigmoid,
    "mish": _native("Mish"),
    "soft_shrink": _native("Shrink", lambd=0.5, bias=0.5),
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": _sparse_sigmoid,
    "squareplus": _squareplus,
    "tanh_shrink": _tanh_shrink,
}


def activate(call: OnnxCall, name: Json, x: str) -> str:
    """Apply the activation a layer names; None and ``linear`` are none.

    Raises:
        Refusal: if there is no counterpart.
    """
    if name in (None, "linear"):
        return x
    if name not in ACTIVATIONS:
        raise Refusal(f"activation {name!r} has no ONNX counterpart here")
    return ACTIVATIONS[name](call, x)


def _activation(call: OnnxCall) -> str:
    return activate(call, call.params["activation"], call.inputs[0])


def _relu(call: OnnxCall) -> str:
    """One native operator for the usual settings; a threshold needs the documented cases, in their order."""
    (x,) = call.inputs
    top: Json = call.params["max_value"]
    slope, threshold = number(call.params, "negative_slope"), number(call.params, "threshold")
    if threshold:
        return _relu_by_cases(call, x, top, slope, threshold)
    if slope:
        leaky = call.emit("LeakyRelu", x, alpha=slope)
        # Not Clip: without a bottom it takes the lowest finite number for one, and loses minus infinity.
        return leaky if top is None else call.emit("Min", leaky, call.numbers(top))
    return call.emit("Relu", x) if top is None else _clip(call, x, float(top))


def _relu_by_cases(call: OnnxCall, x: str, top: Json, slope: float, threshold: float) -> str:
    # ThresholdedRelu takes the other side at the threshold itself, and Clip cannot say a top below it.
    limit = call.numbers(threshold)
    below = call.numbers(0.0)
    if slope:
        below = call.emit("Mul", call.emit("Sub", x, limit), call.numbers(slope))
    # Asked as "less", a NaN falls to the side that keeps it.
    result = call.emit("Where", call.emit("Less", x, limit), below, x)
    if top is None:
        return result
    most = call.numbers(top)
    return call.emit("Where", call.emit("GreaterOrEqual", x, most), most, result)


def _leaky_relu(call: OnnxCall) -> str:
    return call.emit("LeakyRelu", call.inputs[0], alpha=number(call.params, "negative_slope"))


def _elu(call: OnnxCall) -> str:
    return call.emit("Elu", call.inputs[0], alpha=number(call.params, "alpha"))


def _prelu(call: OnnxCall) -> str:
    """The slopes with a batch axis of one: left to broadcasting, some would take a vector for one per channel."""
    return call.emit("PRelu", call.x, call.weight("alpha", lambda alpha: alpha[None]))


def _softmax(call: OnnxCall) -> str:
    axes = axes_of(call.params["axis"], "axis", call.rank)
    if len(axes) == 1:
        return call.emit("Softmax", call.inputs[0], axis=axes[0])
    return _joint_softmax(call, axes)


def _joint_softmax(call: OnnxCall, axes: tuple[int, ...]) -> str:
    """Over several axes: they are brought to the end and taken as one."""
    others = tuple(axis for axis in range(call.rank) if axis not in axes)
    order = (*others, *axes)
    sizes = tuple(call.shape[axis] for axis in order)
    moved = call.transpose(call.inputs[0], order)
    flat = call.reshape(moved, (*sizes[: len(others)], math.prod(sizes[len(others) :])))
    shares = call.reshape(call.emit("Softmax", flat, axis=-1), sizes)
    return call.transpose(shares, inverse(order))


ACTIVATION_LAYERS: dict[str, Lowering] = {
    "Activation": _activation,
    "ELU": _elu,
    "LeakyReLU": _leaky_relu,
    "PReLU": _prelu,
    "ReLU": _relu,
    "Softmax": _softmax,
}
