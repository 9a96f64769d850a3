"""Normalizations: of batches, layers, groups, root mean squares and lengths, and by given statistics."""

from __future__ import annotations

import math

from ....operators.arguments import axes_of, axis_of, flag, is_integer, number
from ....operators.layers.renormalization import limits_of
from ..refusal import Refusal
from .program import Lowering, TorchCall, TorchTensor

_LEAST_LENGTH = 1e-12
_LEAST_DEVIATION = 1e-7


def _optional(call: TorchCall, name: str) -> TorchTensor | None:
    return call.weight(name) if call.has(name) else None


def _moved(call: TorchCall, x: TorchTensor, source: int, target: int) -> TorchTensor:
    return x if source == target else call.emit("movedim", x, source, target)


def _batch(call: TorchCall) -> TorchTensor:
    axis = axis_of(call.params["axis"], "axis", call.rank)
    if call.training and math.prod(call.shapes[0]) == call.shapes[0][axis]:
        raise Refusal("torch normalizes no batch with one value per channel in training")
    statistics = [None, None] if call.training else [call.weight("moving_mean"), call.weight("moving_variance")]
    x = _moved(call, call.x, axis, 1)
    affine = _optional(call, "gamma"), _optional(call, "beta")
    if call.training and flag(call.params, "renorm"):
        affine = _renormed(call, x, *affine)
    epsilon = number(call.params, "epsilon")
    found = call.emit("nn.functional.batch_norm", x, *statistics, *affine, training=call.training, eps=epsilon)
    return _moved(call, found, 1, axis)


def _renormed(
    call: TorchCall, x: TorchTensor, gamma: TorchTensor | None, beta: TorchTensor | None
) -> tuple[TorchTensor, TorchTensor]:
    """Gamma and beta with the correction of batch renormalization, through which no gradient flows."""
    limits, epsilon = limits_of(call.params), number(call.params, "epsilon")
    others = [index for index in range(call.rank) if index != 1]
    moving = call.emit("clamp", call.weight("renorm_stddev"), min=math.sqrt(epsilon))
    variance = call.emit("var", x, dim=others, correction=0)
    deviation = call.emit("sqrt", call.emit("add", variance, epsilon))
    apart = call.emit("sub", call.emit("mean", x, dim=others), call.weight("renorm_mean"))
    r = _clipped(call, call.emit("div", deviation, moving), limits.rmin, limits.rmax)
    d = _clipped(call, call.emit("div", apart, moving), -limits.dmax, limits.dmax)
    if gamma is not None:
        r, d = call.emit("mul", r, gamma), call.emit("mul", d, gamma)
    return r, d if beta is None else call.add(d, beta)


def _clipped(call: TorchCall, x: TorchTensor, least: float, most: float) -> TorchTensor:
    most_if_any = {"max": most} if math.isfinite(most) else {}
    least_if_any = {"min": least} if math.isfinite(least) else {}
    limits = {**least_if_any, **most_if_any}
    return call.emit("detach", call.emit("clamp", x, **limits) if limits else x)


def _over_last_axes(call: TorchCall, api: str, *weights: TorchTensor | None) -> TorchTensor:
    """Torch normalizes over the last axes: those of the layer are brought there."""
    axes = sorted(axes_of(call.params["axis"], "axis", call.rank))
    last = list(range(call.rank - len(axes), call.rank))
    x = call.x if axes == last else call.emit("movedim", call.x, axes, last)
    sizes = [call.shape[axis] for axis in axes]
    found = call.emit(f"nn.functional.{api}", x, sizes, *weights, eps=number(call.params, "epsilon"))
    return found if axes == last else call.emit("movedim", found, last, axes)


def _layer(call: TorchCall) -> TorchTensor:
    return _over_last_axes(call, "layer_norm", _optional(call, "gamma"), _optional(call, "beta"))


def _rms(call: TorchCall) -> TorchTensor:
    return _over_last_axes(call, "rms_norm", call.weight("scale"))


def _group(call: TorchCall) -> TorchTensor:
    axis = axis_of(call.params["axis"], "axis", call.rank)
    channels = call.shape[axis]
    groups = channels if call.params["groups"] == -1 else int(call.params["groups"])
    if math.prod(call.shape) == groups:
        raise Refusal("torch normalizes no batch with one value per group")
    found = call.emit(
        "nn.functional.group_norm",
        _moved(call, call.x, axis, 1),
        groups,
        _optional(call, "gamma"),
        _optional(call, "beta"),
        eps=number(call.params, "epsilon"),
    )
    return _moved(call, found, 1, axis)


def _unit(call: TorchCall) -> TorchTensor:
    axes = axes_of(call.params["axis"], "axis", call.rank)
    return call.emit("nn.functional.normalize", call.x, dim=axes, eps=_LEAST_LENGTH)


def _given(call: TorchCall) -> TorchTensor:
    """By statistics that are arguments or weights."""
    axis = call.params["axis"]
    kept = set() if axis is None else set(axes_of([axis] if is_integer(axis) else axis, "axis", call.rank))
    along = [size if index in kept else 1 for index, size in enumerate(call.shape)]
    statistics = []
    for name in ("mean", "variance"):
        fixed = call.params[name]
        statistics.append(call.reshape(call.weight(name), along) if fixed is None else call.numbers(float(fixed)))
    mean, variance = statistics
    deviation = call.emit("clamp", call.emit("sqrt", variance), min=_LEAST_DEVIATION)
    if flag(call.params, "invert"):
        return call.add(mean, call.emit("mul", call.x, deviation))
    return call.emit("div", call.emit("sub", call.x, mean), deviation)


NORMALIZATION_LAYERS: dict[str, Lowering] = {
    "BatchNormalization": _batch,
    "GroupNormalization": _group,
    "LayerNormalization": _layer,
    "Normalization": _given,
    "RMSNormalization": _rms,
    "UnitNormalization": _unit,
}
