"""Attention with and without heads: torch's fused kernel where it says the same, else product by product."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ....operators.arguments import flag, optional_positive, positive
from ....operators.layers.attended import fold_of
from ..refusal import Refusal, static
from .program import Dtype, Lowering, TorchCall, TorchTensor

Found = list[TorchTensor]


def _check(call: TorchCall) -> None:
    if call.training and call.params["dropout"]:
        raise Refusal(f"{call.op} draws random numbers in training, and torch draws others")


def _hidden(call: TorchCall, queries: int, keys: int) -> TorchTensor | None:
    """A mask of what no query may look at; None where all is seen."""
    causal, window = flag(call.params, "use_causal_mask"), None
    if "sliding_window" in call.params:
        window = optional_positive(call.params, "sliding_window")
    rows = [
        [(causal and key > query) or (window is not None and abs(key - query) >= window) for key in range(keys)]
        for query in range(queries)
    ]
    return call.emit("tensor", rows, dtype=Dtype("bool")) if any(map(any, rows)) else None


def _weighed(call: TorchCall, scores: TorchTensor, hidden: TorchTensor | None, value: TorchTensor) -> Found:
    """The values by their shares, and the shares."""
    if hidden is not None:
        scores = call.emit("masked_fill", scores, hidden, float("-inf"))
    shares = call.emit("nn.functional.softmax", scores, dim=-1)
    return [call.emit("matmul", shares, value), shares]


# Without heads


def _given(call: TorchCall) -> tuple[TorchTensor, TorchTensor, TorchTensor]:
    """Query, key and value."""
    value = call.inputs[1]
    return call.x, (call.inputs[2] if len(call.inputs) > 2 else value), value


def _pairs(call: TorchCall, query: TorchTensor, key: TorchTensor) -> TorchTensor:
    """Every query plus every key."""
    return call.add(call.emit("unsqueeze", query, 2), call.emit("unsqueeze", key, 1))


def _attention(call: TorchCall) -> Found:
    _check(call)
    query, key, value = _given(call)
    hidden = _hidden(call, call.shapes[0][1], call.shapes[1][1])
    scale = call.weight("scale") if call.has("scale") else None
    asked = flag(call.params, "return_attention_scores")
    if call.params["score_mode"] == "dot":
        if scale is None and hidden is None and not asked:
            return [call.emit("nn.functional.scaled_dot_product_attention", query, key, value, scale=1.0)]
        scores = call.emit("matmul", query, call.emit("transpose", key, 1, 2))
        scores = scores if scale is None else call.emit("mul", scores, scale)
    else:
        both = _pairs(call, query, key)
        bent = call.emit("tanh", both if scale is None else call.emit("mul", both, scale))
        scores = call.emit("mul", call.emit("sum", bent, dim=-1), call.weight("concat_score_weight"))
    return _weighed(call, scores, hidden, value)[: 1 + asked]


def _additive(call: TorchCall) -> Found:
    _check(call)
    query, key, value = _given(call)
    bent = call.emit("tanh", _pairs(call, query, key))
    if call.has("scale"):
        bent = call.emit("mul", bent, call.weight("scale"))
    hidden = _hidden(call, call.shapes[0][1], call.shapes[1][1])
    found = _weighed(call, call.emit("sum", bent, dim=-1), hidden, value)
    return found[: 1 + flag(call.params, "return_attention_scores")]


# With heads


@dataclass(frozen=True, slots=True)
class _TorchHeads:
    queries: int
    keys: int
    key_size: int


def _projected(call: TorchCall, x: TorchTensor, name: str, taken: int = 1) -> TorchTensor:
    """``x``, its last ``taken`` axes flat, times a kernel made flat; the result is flat, too."""
    shape = call.declared[f"{name}/kernel"].shape
    size = math.prod(shape[:taken])
    kernel = call.permute(call.reshape(call.weight(f"{name}/kernel"), (size, math.prod(shape[taken:]))), (1, 0))
    bias = call.reshape(call.weight(f"{name}/bias"), [-1]) if call.has(f"{name}/bias") else None
    return call.emit("nn.functional.linear", x, kernel, bias)


def _split(call: TorchCall, x: TorchTensor, heads: int) -> TorchTensor:
    """(batch, steps, heads * size) to (batch, heads, steps, size)."""
    return call.emit("transpose", call.emit("unflatten", x, -1, [heads, -1]), 1, 2)


def _with_heads(call: TorchCall, heads: _TorchHeads) -> Found:
    _check(call)
    taken, key, value = _given(call)
    query = _split(call, _projected(call, taken, "query"), heads.queries)
    key = _split(call, _projected(call, key, "key"), heads.keys)
    value = _split(call, _projected(call, value, "value"), heads.keys)
    times = heads.queries // heads.keys
    if times > 1:
        key, value = (call.emit("repeat_interleave", part, times, dim=1) for part in (key, value))
    mixed = _mixed(call, query, key, value, heads)
    joined = call.emit("flatten", call.emit("transpose", mixed[0], 1, 2), 2)
    if flag(call.params, "use_gate"):
        joined = call.emit("mul", joined, call.emit("sigmoid", _projected(call, taken, "gate")))
    result = call.reshape(_projected(call, joined, "attention_output", taken=2), call.shape)
    return [result, *mixed[1:]]


def _mixed(call: TorchCall, query: TorchTensor, key: TorchTensor, value: TorchTensor, heads: _TorchHeads) -> Found:
    hidden = _hidden(call, call.shapes[0][1], call.shapes[1][1])
    if not flag(call.params, "return_attention_scores"):
        seen = None if hidden is None else call.emit("logical_not", hidden)
        return [call.emit("nn.functional.scaled_dot_product_attention", query, key, value, seen)]
    scores = call.emit("matmul", query, call.emit("transpose", key, 2, 3))
    return _weighed(call, call.emit("mul", scores, 1.0 / math.sqrt(heads.key_size)), hidden, value)


def _multi(call: TorchCall) -> Found:
    """Over chosen axes: these as one, all others as more of the batch, and back."""
    count = positive(call.params, "num_heads")
    heads = _TorchHeads(count, count, positive(call.params, "key_dim"))
    if call.rank == 3:
        return _with_heads(call, heads)
    fold = fold_of(call.params, call.shapes)
    shapes = static([fold.shape(shape) for shape in call.shapes])
    inputs = [call.reshape(call.permute(x, fold.order), shape) for x, shape in zip(call.inputs, shapes, strict=True)]
    tail = call.shape[call.rank - 1 :]
    flat = replace(call, inputs=tuple(inputs), shapes=shapes, outputs=((*shapes[0][:2], *tail),))
    result, *scores = _with_heads(flat, heads)
    result = call.reshape(result, *static([fold.unfolded(call.shapes[0], tail)]))
    back = call.permute(result, fold.back(len(tail)))
    return [back, *(call.reshape(found, call.outputs[1]) for found in scores)]


def _grouped(call: TorchCall) -> Found:
    names = ("num_query_heads", "num_key_value_heads", "head_dim")
    return _with_heads(call, _TorchHeads(*(positive(call.params, name) for name in names)))


ATTENTION_LAYERS: dict[str, Lowering] = {
    "AdditiveAttention": _additive,
    "Attention": _attention,
    "GroupQueryAttention": _grouped,
    "MultiHeadAttention": _multi,
}
