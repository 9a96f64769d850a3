"""Normalizations as ONNX operators: of batches, layers, groups, root mean squares and lengths, by given statistics."""

from __future__ import annotations

import numpy as np

from ...operators.arguments import axes_of, axis_of, flag, is_integer, number
from ...operators.layers.renormalization import limits_of
from .onnx_graph import Lowering, OnnxCall, inverse
from .refusal import Sizes

_LEAST_LENGTH = 1e-12
_LEAST_DEVIATION = 1e-7


def _scale(call: OnnxCall, shape: Sizes) -> str:
    """Gamma, or the ones that ONNX wants in its place."""
    return call.weight("gamma") if flag(call.params, "scale") else call.numbers(np.ones(shape))


def _offset(call: OnnxCall, shape: Sizes) -> str:
    return call.weight("beta") if flag(call.params, "center") else call.numbers(np.zeros(shape))


def _channels_second(call: OnnxCall, axis: int) -> Sizes:
    """The order of axes in which the given one is where ONNX has the channels, whatever the rank."""
    others = [index for index in range(call.rank) if index != axis]
    return (others[0], axis, *others[1:])


def _batch(call: OnnxCall) -> str:
    """With the moving statistics, or in training with those of the batch."""
    axis = axis_of(call.params["axis"], "axis", call.rank)
    if call.training:
        return _by_the_batch(call, axis)
    order, shape = _channels_second(call, axis), (call.shape[axis],)
    normalized = call.emit(
        "BatchNormalization",
        call.transpose(call.x, order),
        _scale(call, shape),
        _offset(call, shape),
        call.weight("moving_mean"),
        call.weight("moving_variance"),
        epsilon=number(call.params, "epsilon"),
    )
    return call.transpose(normalized, inverse(order))


def _by_the_batch(call: OnnxCall, axis: int) -> str:
    """Written out: runtimes leave the operator's training mode to builds of their own."""
    others = call.sizes([index for index in range(call.rank) if index != axis])
    along = tuple(size if index == axis else 1 for index, size in enumerate(call.shape))
    mean = call.emit("ReduceMean", call.x, others)
    centred = call.emit("Sub", call.x, mean)
    variance = call.emit("ReduceMean", call.emit("Mul", centred, centred), others)
    deviation = call.emit("Sqrt", call.emit("Add", variance, call.numbers(number(call.params, "epsilon"))))
    found = call.emit("Div", centred, deviation)
    if flag(call.params, "renorm"):
        found = _renormed(call, found, mean, deviation, along)
    if flag(call.params, "scale"):
        found = call.emit("Mul", found, call.reshape(call.weight("gamma"), along))
    return call.emit("Add", found, call.reshape(call.weight("beta"), along)) if flag(call.params, "center") else found


def _renormed(call: OnnxCall, normalized: str, mean: str, deviation: str, along: Sizes) -> str:
    """Batch renormalization: by a factor and an offset that the moving statistics say."""
    limits = limits_of(call.params)
    least = call.numbers(np.sqrt(number(call.params, "epsilon")))
    moving = call.emit("Max", call.reshape(call.weight("renorm_stddev"), along), least)
    apart = call.emit("Sub", mean, call.reshape(call.weight("renorm_mean"), along))
    r = _clipped(call, call.emit("Div", deviation, moving), limits.rmin, limits.rmax)
    d = _clipped(call, call.emit("Div", apart, moving), -limits.dmax, limits.dmax)
    return call.emit("Add", call.emit("Mul", normalized, r), d)


def _clipped(call: OnnxCall, x: str, least: float, most: float) -> str:
    return call.emit("Min", call.emit("Max", x, call.numbers(least)), call.numbers(most))


def _over_last_axes(call: OnnxCall, op: str, scale: str, *more: str) -> str:
    """ONNX normalizes over all axes from one on: those of the layer are brought to the end."""
    axes = _axes(call)
    order = (*(index for index in range(call.rank) if index not in axes), *axes)
    x = call.transpose(call.x, order)
    normalized = call.emit(op, x, scale, *more, axis=-len(axes), epsilon=number(call.params, "epsilon"))
    return call.transpose(normalized, inverse(order))


def _axes(call: OnnxCall) -> list[int]:
    return sorted(axes_of(call.params["axis"], "axis", call.rank))


def _layer(call: OnnxCall) -> str:
    scale = _scale(call, tuple(call.shape[axis] for axis in _axes(call)))
    beta = [call.weight("beta")] if flag(call.params, "center") else []
    return _over_last_axes(call, "LayerNormalization", scale, *beta)


def _rms(call: OnnxCall) -> str:
    return _over_last_axes(call, "RMSNormalization", call.weight("scale"))


def _group(call: OnnxCall) -> str:
    axis = axis_of(call.params["axis"], "axis", call.rank)
    order, channels = _channels_second(call, axis), call.shape[axis]
    groups = channels if call.params["groups"] == -1 else int(call.params["groups"])
    normalized = call.emit(
        "GroupNormalization",
        call.transpose(call.x, order),
        _scale(call, (channels,)),
        _offset(call, (channels,)),
        num_groups=groups,
        epsilon=number(call.params, "epsilon"),
    )
    return call.transpose(normalized, inverse(order))


def unit_length(call: OnnxCall, x: str, axes: list[int], least: float) -> str:
    """``x`` by its length; LpNormalization has no least length to divide by."""
    length = call.emit("ReduceL2", x, call.sizes(axes), keepdims=1)
    return call.emit("Div", x, call.emit("Max", length, call.numbers(least)))


def _unit(call: OnnxCall) -> str:
    return unit_length(call, call.x, _axes(call), _LEAST_LENGTH)


def _given(call: OnnxCall) -> str:
    """By statistics that are arguments or weights."""
    axis = call.params["axis"]
    kept = set() if axis is None else set(axes_of([axis] if is_integer(axis) else axis, "axis", call.rank))
    along = tuple(size if index in kept else 1 for index, size in enumerate(call.shape))
    mean, variance = (
        call.weight(name, lambda array: array.reshape(along))
        if call.params[name] is None
        else call.numbers(call.params[name])
        for name in ("mean", "variance")
    )
    deviation = call.emit("Max", call.emit("Sqrt", variance), call.numbers(_LEAST_DEVIATION))
    if flag(call.params, "invert"):
        return call.emit("Add", mean, call.emit("Mul", call.x, deviation))
    return call.emit("Div", call.emit("Sub", call.x, mean), deviation)


NORMALIZATION_LAYERS: dict[str, Lowering] = {
    "BatchNormalization": _batch,
    "GroupNormalization": _group,
    "LayerNormalization": _layer,
    "Normalization": _given,
    "RMSNormalization": _rms,
    "UnitNormalization": _unit,
}
