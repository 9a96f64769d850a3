"""Products with kernels, tables of rows, and layers of several inputs, as ONNX operators."""

from __future__ import annotations

import math
from functools import partial, reduce

from ...operators.arguments import axis_of, flag, is_integer, number
from .onnx_activations import activate
from .onnx_graph import Lowering, OnnxCall
from .onnx_normalization import unit_length

_FLOAT, _INT32 = 1, 6  # TensorProto.DataType
_LEAST_LENGTH = 1e-7


# Products


def _dense(call: OnnxCall) -> str:
    kernel = call.weight("kernel")
    bias = [call.weight("bias")] if flag(call.params, "use_bias") else []
    if call.rank == 2:
        total = call.emit("Gemm", call.x, kernel, *bias)
    else:  # Gemm takes matrices only
        total = call.emit("MatMul", call.x, kernel)
        total = call.emit("Add", total, *bias) if bias else total
    return activate(call, call.params["activation"], total)


def _einsum(call: OnnxCall) -> str:
    total = call.emit("Einsum", call.x, call.weight("kernel"), equation=call.params["equation"])
    if "bias" in call.weights:
        total = call.emit("Add", total, call.weight("bias"))
    return activate(call, call.params["activation"], total)


def _dot(call: OnnxCall) -> str:
    """Both inputs as matrices of which one axis is summed over."""
    value = call.params["axes"]
    items = (value, value) if is_integer(value) else value
    parts = []
    for x, shape, item, last in zip(call.inputs, call.shapes, items, (True, False), strict=True):
        axis = axis_of(item, "axes", len(shape))
        if flag(call.params, "normalize"):
            x = unit_length(call, x, [axis], _LEAST_LENGTH)
        others = [index for index in range(1, len(shape)) if index != axis]
        rest = math.prod(shape[index] for index in others)
        turned = call.transpose(x, (0, *others, axis) if last else (0, axis, *others))
        parts.append(call.reshape(turned, (shape[0], rest, shape[axis]) if last else (shape[0], shape[axis], rest)))
    return call.reshape(call.emit("MatMul", *parts), call.shape)


# Tables


def _embedding(call: OnnxCall) -> str:
    return call.emit("Gather", call.weight("embeddings"), call.emit("Cast", call.x, to=_INT32), axis=0)


def _reversible_embedding(call: OnnxCall) -> str:
    if not flag(call.params, "reverse"):
        return _embedding(call)
    table = call.weight("reverse_embeddings") if "reverse_embeddings" in call.weights else _turned(call)
    logits = call.emit("MatMul", call.x, table)
    if call.params["logit_soft_cap"] is None:
        return logits
    cap = call.numbers(number(call.params, "logit_soft_cap"))
    return call.emit("Mul", call.emit("Tanh", call.emit("Div", logits, cap)), cap)


def _turned(call: OnnxCall) -> str:
    return call.transpose(call.weight("embeddings"), (1, 0))


def _masking(call: OnnxCall) -> str:
    """Only the values: what reads the mask itself is refused."""
    hidden = call.emit("Equal", call.x, call.numbers(number(call.params, "mask_value")))
    differs = call.emit("Cast", call.emit("Not", hidden), to=_FLOAT)
    return call.emit("Mul", call.x, call.emit("ReduceMax", differs, call.sizes([-1])))


# Several inputs


def _aligned(call: OnnxCall) -> list[str]:
    """Inputs of one rank: the missing axes are inserted behind the batch, where ONNX would put them before it."""
    rank = len(call.shape)
    return [
        x if len(shape) == rank else call.reshape(x, (shape[0], *(1,) * (rank - len(shape)), *shape[1:]))
        for x, shape in zip(call.inputs, call.shapes, strict=True)
    ]


def _pairwise(call: OnnxCall, *, op: str) -> str:
    return reduce(lambda left, right: call.emit(op, left, right), _aligned(call))


def _together(call: OnnxCall, *, op: str) -> str:
    return call.emit(op, *_aligned(call))


def _concatenate(call: OnnxCall) -> str:
    return call.emit("Concat", *call.inputs, axis=axis_of(call.params["axis"], "axis", call.rank))


DENSE_LAYERS: dict[str, Lowering] = {
    "Add": partial(_pairwise, op="Add"),
    "Average": partial(_together, op="Mean"),
    "Concatenate": _concatenate,
    "Dense": _dense,
    "Dot": _dot,
    "EinsumDense": _einsum,
    "Embedding": _embedding,
    "Masking": _masking,
    "Maximum": partial(_together, op="Max"),
    "Minimum": partial(_together, op="Min"),
    "Multiply": partial(_pairwise, op="Mul"),
    "ReversibleEmbedding": _reversible_embedding,
    "Subtract": partial(_pairwise, op="Sub"),
}
