"""Products with kernels, tables of rows, and layers of several inputs."""

from __future__ import annotations

import math
from functools import partial

from ....operators.arguments import axis_of, flag, is_integer, number
from ..refusal import Refusal
from .activations import activate
from .program import Dtype, Lowering, TorchCall, TorchTensor

_LEAST_LENGTH = 1e-7


# Products


def _dense(call: TorchCall) -> TorchTensor:
    kernel = call.permute(call.weight("kernel"), (1, 0))
    bias = call.weight("bias") if call.has("bias") else None
    return activate(call, call.params["activation"], call.emit("nn.functional.linear", call.x, kernel, bias))


def _einsum(call: TorchCall) -> TorchTensor:
    total = call.emit("einsum", call.params["equation"], call.x, call.weight("kernel"))
    if call.has("bias"):
        total = call.add(total, call.weight("bias"))
    return activate(call, call.params["activation"], total)


def _dot(call: TorchCall) -> TorchTensor:
    """Both inputs as matrices of which one axis is summed over."""
    value = call.params["axes"]
    items = (value, value) if is_integer(value) else value
    parts = []
    for x, shape, item, place in zip(call.inputs, call.shapes, items, (-1, 1), strict=True):
        axis = axis_of(item, "axes", len(shape))
        if flag(call.params, "normalize"):
            x = call.emit("nn.functional.normalize", x, dim=axis, eps=_LEAST_LENGTH)
        rest = math.prod(size for index, size in enumerate(shape) if index not in (0, axis))
        sizes = (shape[0], rest, shape[axis]) if place == -1 else (shape[0], shape[axis], rest)
        parts.append(call.reshape(call.emit("movedim", x, axis, place), sizes))
    return call.reshape(call.emit("bmm", *parts), call.shape)


# Tables


def _embedding(call: TorchCall) -> TorchTensor:
    indices = call.emit("Tensor.to", call.x, Dtype("int64"))
    return call.emit("nn.functional.embedding", indices, call.weight("embeddings"))


def _reversible_embedding(call: TorchCall) -> TorchTensor:
    if not flag(call.params, "reverse"):
        return _embedding(call)
    if call.integers:
        raise Refusal("ReversibleEmbedding is given integers in reverse")
    table = call.weight("embeddings")
    if not flag(call.params, "tie_weights"):
        table = call.permute(call.weight("reverse_embeddings"), (1, 0))
    logits = call.emit("nn.functional.linear", call.x, table)
    if call.params["logit_soft_cap"] is None:
        return logits
    cap = number(call.params, "logit_soft_cap")
    return call.emit("mul", call.emit("tanh", call.emit("div", logits, cap)), cap)


def _masking(call: TorchCall) -> TorchTensor:
    differs = call.emit("ne", call.x, number(call.params, "mask_value"))
    return call.emit("mul", call.x, call.emit("any", differs, dim=-1, keepdim=True))


# Several inputs


def _aligned(call: TorchCall) -> list[TorchTensor]:
    """Inputs of one rank: the missing axes are inserted behind the batch, where torch would put them before it."""
    rank = len(call.shape)
    return [
        x if len(shape) == rank else call.reshape(x, (shape[0], *(1,) * (rank - len(shape)), *shape[1:]))
        for x, shape in zip(call.inputs, call.shapes, strict=True)
    ]


def _pairwise(call: TorchCall, *, api: str) -> TorchTensor:
    found, *others = _aligned(call)
    for other in others:
        found = call.emit(api, found, other)
    return found


def _average(call: TorchCall) -> TorchTensor:
    return call.emit("div", _pairwise(call, api="add"), len(call.inputs))


def _concatenate(call: TorchCall) -> TorchTensor:
    return call.emit("cat", list(call.inputs), dim=axis_of(call.params["axis"], "axis", call.rank))


DENSE_LAYERS: dict[str, Lowering] = {
    "Add": partial(_pairwise, api="add"),
    "Average": _average,
    "Concatenate": _concatenate,
    "Dense": _dense,
    "Dot": _dot,
    "EinsumDense": _einsum,
    "Embedding": _embedding,
    "Masking": _masking,
    "Maximum": partial(_pairwise, api="maximum"),
    "Minimum": partial(_pairwise, api="minimum"),
    "Multiply": partial(_pairwise, api="mul"),
    "ReversibleEmbedding": _reversible_embedding,
    "Subtract": partial(_pairwise, api="sub"),
}
