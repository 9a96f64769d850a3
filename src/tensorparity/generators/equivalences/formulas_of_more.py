"""Rule 7, formulas of two arrays, and of what is taken along an axis, as documentation has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...core.call import ApiCall, ArrayArg
from ...core.case import Case

#: Along which axis functions work that are told none; nothing where that is no axis of theirs.
_LAST = -1
_AXIS = ("axis", "dim")
#: What operations along an axis are called: the name, the word for the axis, and for keeping it.
_REDUCING: Mapping[str, tuple[str, str, str, Mapping[str, str]]] = {
    "torch": ("torch.", "dim", "keepdim", {"max": "amax"}),
    "tensorflow": (
        "tensorflow.math.",
        "axis",
        "keepdims",
        {"sum": "reduce_sum", "max": "reduce_max", "mean": "reduce_mean"},
    ),
    "jax": ("jax.numpy.", "axis", "keepdims", {}),
    "keras": ("keras.ops.", "axis", "keepdims", {}),
}

Two = Callable[[Any, Any, Any], ApiCall]
Along = Callable[[Any, Any, int], ApiCall]


def reduced(library: str, how: str, x: Any, axis: int, *, keep: bool = True) -> ApiCall:
    """The sum, mean or largest along an axis, in a library's words."""
    at, along, keeping, others = _REDUCING[library]
    return ApiCall(at + others.get(how, how), (x,), {along: axis, keeping: keep})


#: By the last part of a name: what the documentation says, and that in operations.
OF_TWO: Mapping[str, tuple[str, Two]] = {
    "squared_difference": ("(x - y)(x - y)", lambda w, a, b: w.square(w.sub(a, b))),
    "hypot": ("sqrt(x^2 + y^2)", lambda w, a, b: w.sqrt(w.add(w.square(a), w.square(b)))),
    "logaddexp": ("log(exp(x) + exp(y))", lambda w, a, b: w.log(w.add(w.exp(a), w.exp(b)))),
    "logaddexp2": (
        "log2(2^x + 2^y)",
        lambda w, a, b: w.mul(
            w.log(w.add(w.exp(w.mul(a, math.log(2.0))), w.exp(w.mul(b, math.log(2.0))))), 1.0 / math.log(2.0)
        ),
    ),
    "subtract": ("x - y", lambda w, a, b: w.add(a, w.mul(b, -1.0))),
    "sub": ("x - y", lambda w, a, b: w.add(a, w.mul(b, -1.0))),
    "multiply": ("x * y", lambda w, a, b: w.mul(b, a)),
    "maximum": ("the larger of x and y", lambda w, a, b: w.where(w.greater(a, b), a, b)),
    "minimum": ("the smaller of x and y", lambda w, a, b: w.where(w.greater(a, b), b, a)),
    "float_power": ("exp(y log(x))", lambda w, a, b: w.exp(w.mul(b, w.log(a)))),
}
OF_AXIS: Mapping[str, tuple[str, Along]] = {
    "softmax": ("exp(x) / sum(exp(x))", lambda w, x, axis: _softmax(w, x, axis)),
    "softmin": ("exp(-x) / sum(exp(-x))", lambda w, x, axis: _softmax(w, w.mul(x, -1.0), axis)),
    "log_softmax": (
        "log(exp(x) / sum(exp(x)))",
        lambda w, x, axis: w.sub(x, w.log(reduced(w.library, "sum", w.exp(x), axis))),
    ),
    "logsumexp": (
        "log(sum(exp(x)))",
        lambda w, x, axis: w.log(reduced(w.library, "sum", w.exp(x), axis, keep=False)),
    ),
    "reduce_logsumexp": (
        "log(sum(exp(x)))",
        lambda w, x, axis: w.log(reduced(w.library, "sum", w.exp(x), axis, keep=False)),
    ),
    "reduce_variance": ("mean((x - mean(x))^2)", lambda w, x, axis: _variance(w, x, axis)),
    "reduce_std": ("sqrt(mean((x - mean(x))^2))", lambda w, x, axis: w.sqrt(_variance(w, x, axis))),
    "l2_normalize": (
        "x / sqrt(max(sum(x^2), epsilon))",
        lambda w, x, axis: w.div(
            x, w.sqrt(w.maximum(reduced(w.library, "sum", w.square(x), axis), _EPSILON[w.library]))
        ),
    ),
}
_EPSILON: dict[str, float] = {"tensorflow": 1e-12, "torch": 1e-12, "jax": 1e-12, "keras": 1e-12}
#: Where the axis has to be given, or means all axes: that is another formula.
_WANTS_AXIS = frozenset(["softmax", "softmin", "log_softmax"])


def _softmax(w: Any, x: Any, axis: int) -> ApiCall:
    powers = w.exp(x)
    found: ApiCall = w.div(powers, reduced(w.library, "sum", powers, axis))
    return found


def _variance(w: Any, x: Any, axis: int) -> ApiCall:
    centred = w.square(w.sub(x, reduced(w.library, "mean", x, axis)))
    return reduced(w.library, "mean", centred, axis, keep=False)


def two_of(case: Case) -> tuple[ArrayArg, ArrayArg] | None:
    """The two arrays that a call takes and nothing else; None of any other call."""
    call = case.subject
    if not isinstance(call, ApiCall) or call.kwargs or len(call.args) != 2:
        return None
    first, second = call.args
    return (first, second) if isinstance(first, ArrayArg) and isinstance(second, ArrayArg) else None


def along_of(case: Case) -> tuple[ArrayArg, int] | None:
    """The array that a call takes, and the axis along which it works; None of any other call."""
    call = case.subject
    if not isinstance(call, ApiCall) or not call.args or not isinstance(call.args[0], ArrayArg):
        return None
    told = [*call.args[1:], *(call.kwargs[name] for name in _AXIS if name in call.kwargs)]
    if len(told) > 1 or len(told) != len(call.args) - 1 + len(call.kwargs):
        return None
    axis = told[0] if told else None
    wants = call.api.rpartition(".")[2] in _WANTS_AXIS and call.api.partition(".")[0] != "torch"
    if axis is None and wants:
        axis = _LAST
    rank = case.inputs[call.args[0].name].ndim - (case.procedure.rows is not None)
    whole = isinstance(axis, int) and not isinstance(axis, bool) and -rank <= axis < rank
    return (call.args[0], axis) if whole and isinstance(axis, int) else None
