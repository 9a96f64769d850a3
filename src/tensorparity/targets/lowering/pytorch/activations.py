"""Activations: as functions by the names that layers accept, and as layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ....core.jsontext import Json
from ....operators.arguments import number, sample_axes
from ..refusal import Refusal
from .program import Lowering, TorchCall, TorchTensor

Activation = Callable[[TorchCall, TorchTensor], TorchTensor]


def _named(api: str, *args: float, **kwargs: Json) -> Activation:
    return lambda call, x: call.emit(api, x, *args, **kwargs)


def _scaled_sum(call: TorchCall, x: TorchTensor, factor: float, offset: float) -> TorchTensor:
    """Factor * (x + offset)."""
    return call.emit("mul", call.emit("add", x, offset), factor)


def _sparse_plus(call: TorchCall, x: TorchTensor) -> TorchTensor:
    middle = call.emit("mul", call.emit("square", call.emit("add", x, 1.0)), 0.25)
    above = call.emit("where", call.emit("ge", x, 1.0), x, middle)
    return call.emit("where", call.emit("le", x, -1.0), call.emit("zeros_like", x), above)


def _sparse_sigmoid(call: TorchCall, x: TorchTensor) -> TorchTensor:
    return call.emit("clamp", _scaled_sum(call, x, 0.5, 1.0), 0.0, 1.0)


def _sparsemax(call: TorchCall, x: TorchTensor) -> TorchTensor:
    """max(x - tau, 0), with tau from the sorted values: the last place where 1 + k x_k exceeds the sum so far."""
    descending, _ = call.writer.emit_all(2, "sort", x, dim=-1, descending=True)
    ones = call.emit("ones_like", x)
    places = call.emit("cumsum", ones, dim=-1)
    sums = call.emit("cumsum", descending, dim=-1)
    bound = call.emit("add", call.emit("mul", places, descending), 1.0)
    count = call.emit("sum", call.emit("gt", bound, sums), dim=-1, keepdim=True)
    last = call.emit("gather", sums, -1, call.emit("sub", count, 1))
    tau = call.emit("div", call.emit("sub", last, 1.0), count)
    return call.emit("nn.functional.relu", call.emit("sub", x, tau))


def _squareplus(call: TorchCall, x: TorchTensor) -> TorchTensor:
    root = call.emit("sqrt", call.emit("add", call.emit("square", x), 4.0))
    return call.emit("mul", call.emit("add", x, root), 0.5)


_SILU = _named("nn.functional.silu")
_HARD_SILU = _named("nn.functional.hardswish")

ACTIVATIONS: dict[str, Activation] = {
    "relu": _named("nn.functional.relu"),
    "relu6": _named("nn.functional.relu6"),
    "leaky_relu": _named("nn.functional.leaky_relu", 0.2),
    "sigmoid": _named("sigmoid"),
    "tanh": _named("tanh"),
    "softmax": _named("nn.functional.softmax", dim=-1),
    "log_softmax": _named("nn.functional.log_softmax", dim=-1),
    "softplus": _named("nn.functional.softplus"),
    "softsign": _named("nn.functional.softsign"),
    "elu": _named("nn.functional.elu"),
    "selu": _named("nn.functional.selu"),
    "gelu": _named("nn.functional.gelu"),
    "silu": _SILU,
    "swish": _SILU,
    "exponential": _named("exp"),
    "hard_sigmoid": _named("nn.functional.hardsigmoid"),
    "celu": _named("nn.functional.celu"),
    "hard_shrink": _named("nn.functional.hardshrink", 0.5),
    "hard_silu": _HARD_SILU,
    "hard_swish": _HARD_SILU,
    "hard_tanh": _named("nn.functional.hardtanh"),
    "log_sigmoid": _named("nn.functional.logsigmoid"),
    "mish": _named("nn.functional.mish"),
    "soft_shrink": _named("nn.functional.softshrink", 0.5),
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": _sparse_sigmoid,
    "sparsemax": _sparsemax,
    "squareplus": _squareplus,
    "tanh_shrink": _named("nn.functional.tanhshrink"),
}


def activate(call: TorchCall, name: Json, x: TorchTensor) -> TorchTensor:
    """The activation of that name.

    Raises:
        Refusal: if there is no counterpart.
    """
    if name in (None, "linear"):
        return x
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise Refusal(f"activation {name!r} has no counterpart in torch here")
    return ACTIVATIONS[name](call, x)


# As layers


def _relu(call: TorchCall) -> TorchTensor:
    top, slope, threshold = (call.params[name] for name in ("max_value", "negative_slope", "threshold"))
    x = call.x
    if threshold == 0 and top is None:
        return call.emit("nn.functional.leaky_relu", x, slope) if slope else call.emit("nn.functional.relu", x)
    if threshold == 0 and slope == 0:
        return call.emit("nn.functional.hardtanh", x, 0.0, float(top))
    below = call.emit("mul", call.emit("sub", x, threshold), slope)
    found = call.emit("where", call.emit("ge", x, threshold), x, below)
    return found if top is None else call.emit("where", call.emit("ge", x, top), call.numbers(top), found)


def _prelu(call: TorchCall) -> TorchTensor:
    """Torch has one slope per channel, on axis 1; several axes of slopes are written out."""
    alpha, sizes = call.weight("alpha"), call.declared["alpha"].shape
    own = [axis for axis, size in enumerate(sizes, start=1) if size > 1]
    if len(own) > 1:
        return call.emit("where", call.emit("lt", call.x, 0.0), call.emit("mul", call.x, alpha), call.x)
    flat = call.reshape(alpha, [-1])
    if not own:
        return call.emit("nn.functional.prelu", call.x, flat)
    turned = call.emit("nn.functional.prelu", call.emit("movedim", call.x, own[0], 1), flat)
    return call.emit("movedim", turned, 1, own[0])


def _softmax(call: TorchCall) -> TorchTensor:
    axes = sorted(sample_axes(call.params["axis"], "axis", call.rank))
    if len(axes) == 1:
        return call.emit("nn.functional.softmax", call.x, dim=axes[0])
    last = list(range(call.rank - len(axes), call.rank))
    sizes = [call.shape[axis] for axis in axes]
    moved = call.emit("movedim", call.x, axes, last)
    flat = call.emit("nn.functional.softmax", call.emit("flatten", moved, call.rank - len(axes)), dim=-1)
    return call.emit("movedim", call.emit("unflatten", flat, -1, sizes), last, axes)


def _one_number(call: TorchCall, *, api: str, name: str) -> TorchTensor:
    return call.emit(api, call.x, number(call.params, name))


ACTIVATION_LAYERS: dict[str, Lowering] = {
    "Activation": lambda call: activate(call, call.params["activation"], call.x),
    "ELU": partial(_one_number, api="nn.functional.elu", name="alpha"),
    "LeakyReLU": partial(_one_number, api="nn.functional.leaky_relu", name="negative_slope"),
    "PReLU": _prelu,
    "ReLU": _relu,
    "Softmax": _softmax,
}
