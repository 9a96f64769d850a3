"""Attention as ONNX operators, with and without heads.

With keys shared between heads, and without heads, ONNX' own Attention is taken where it says the same; the other layers
are written product by product, which runtimes of any age know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...operators.arguments import flag, optional_positive, positive
from ...operators.layers.attended import fold_of
from .onnx_graph import Lowering, OnnxCall
from .refusal import static

_LOWEST = -np.inf


def _visible(call: OnnxCall) -> Array:
    """Which key each query may look at."""
    queries, keys = np.arange(call.shapes[0][1])[:, None], np.arange(call.shapes[1][1])
    window = optional_positive(call.params, "sliding_window") if "sliding_window" in call.params else None
    seen = np.ones((len(queries), len(keys)), dtype=bool)
    if flag(call.params, "use_causal_mask"):
        seen &= keys <= queries
    return seen if window is None else seen & (np.abs(keys - queries) < window)


def _given(call: OnnxCall) -> tuple[str, str, str]:
    """Query, key and value."""
    value = call.inputs[1]
    return call.x, (call.inputs[2] if len(call.inputs) > 2 else value), value


def _weighed(call: OnnxCall, scores: str, value: str) -> list[str]:
    """The values by their shares, and the shares."""
    seen = _visible(call)
    if not seen.all():
        scores = call.emit("Add", scores, call.numbers(np.where(seen, 0.0, _LOWEST)))
    shares = call.emit("Softmax", scores, axis=-1)
    return [call.emit("MatMul", shares, value), shares]


def _attend(call: OnnxCall, query: str, key: str, value: str, scale: float) -> str:
    """ONNX' own operator, on four axes; its causal mask starts at the first query and key, as Keras' does."""
    seen, causal = _visible(call), flag(call.params, "use_causal_mask")
    if causal and np.array_equal(seen, np.tri(*seen.shape, dtype=bool)):
        return call.emit("Attention", query, key, value, scale=scale, is_causal=1)
    mask = [] if seen.all() else [call.writer.constant(f"{call.layer}_seen", seen)]
    return call.emit("Attention", query, key, value, *mask, scale=scale)


# Without heads


def _pairs(call: OnnxCall, query: str, key: str) -> str:
    """Every query plus every key."""
    left = call.emit("Unsqueeze", query, call.sizes([2]))
    return call.emit("Add", left, call.emit("Unsqueeze", key, call.sizes([1])))


def _plain(call: OnnxCall) -> list[str]:
    query, key, value = _given(call)
    scale = [call.weight("scale")] if "scale" in call.weights else []
    asked = flag(call.params, "return_attention_scores")
    if call.params["score_mode"] == "dot":
        if not scale and not asked:
            query, key, value = (call.emit("Unsqueeze", part, call.sizes([1])) for part in (query, key, value))
            return [call.reshape(_attend(call, query, key, value, scale=1.0), call.shape)]
        scores = call.emit("MatMul", query, call.transpose(key, (0, 2, 1)))
        scores = call.emit("Mul", scores, *scale) if scale else scores
    else:
        both = _pairs(call, query, key)
        bent = call.emit("Tanh", call.emit("Mul", both, *scale) if scale else both)
        total = call.emit("ReduceSum", bent, call.sizes([-1]), keepdims=0)
        scores = call.emit("Mul", total, call.weight("concat_score_weight"))
    return _weighed(call, scores, value)[: 1 + asked]


def _additive(call: OnnxCall) -> list[str]:
    query, key, value = _given(call)
    bent = call.emit("Tanh", _pairs(call, query, key))
    if "scale" in call.weights:
        bent = call.emit("Mul", bent, call.weight("scale"))
    scores = call.emit("ReduceSum", bent, call.sizes([-1]), keepdims=0)
    return _weighed(call, scores, value)[: 1 + flag(call.params, "return_attention_scores")]


# With heads


@dataclass(frozen=True, slots=True)
class _OnnxHeads:
    queries: int
    keys: int
    size: int


def _multi(call: OnnxCall) -> list[str]:
    """Over chosen axes: these as one, all others as more of the batch, and back."""
    count = positive(call.params, "num_heads")
    heads = _OnnxHeads(count, count, positive(call.params, "key_dim"))
    if call.rank == 3:
        return _with_heads(call, heads)
    fold = fold_of(call.params, call.shapes)
    shapes = static([fold.shape(shape) for shape in call.shapes])
    inputs = [call.reshape(call.transpose(x, fold.order), shape) for x, shape in zip(call.inputs, shapes, strict=True)]
    tail = call.shape[call.rank - 1 :]
    flat = replace(call, inputs=tuple(inputs), shapes=shapes, outputs=((*shapes[0][:2], *tail),))
    result, *scores = _with_heads(flat, heads)
    result = call.reshape(result, *static([fold.unfolded(call.shapes[0], tail)]))
    back = call.transpose(result, fold.back(len(tail)))
    return [back, *(call.reshape(found, call.outputs[1]) for found in scores)]


def _grouped(call: OnnxCall) -> list[str]:
    names = ("num_query_heads", "num_key_value_heads", "head_dim")
    return _with_heads(call, _OnnxHeads(*(positive(call.params, name) for name in names)))


def _with_heads(call: OnnxCall, heads: _OnnxHeads) -> list[str]:
    taken, key, value = _given(call)
    query, key, value = (
        _split(call, x, name, steps)
        for x, name, steps in (
            (taken, "query", call.shapes[0][1]),
            (key, "key", call.shapes[1][1]),
            (value, "value", call.shapes[1][1]),
        )
    )
    mixed = _mixed(call, query, key, value, heads)
    count, wide = call.weights["attention_output/kernel"].shape[:2]
    together = (call.shape[0], call.shapes[0][1], count * wide)
    joined = call.reshape(call.transpose(mixed[0], (0, 2, 1, 3)), together)
    if flag(call.params, "use_gate"):
        gate = call.emit("Sigmoid", _projected(call, taken, "gate", taken=1))
        joined = call.emit("Mul", joined, gate)
    return [call.reshape(_projected(call, joined, "attention_output", taken=2), call.shape), *mixed[1:]]


def _mixed(call: OnnxCall, query: str, key: str, value: str, heads: _OnnxHeads) -> list[str]:
    """All (batch, heads, steps, size)."""
    asked, times = flag(call.params, "return_attention_scores"), heads.queries // heads.keys
    scale = 1.0 / np.sqrt(heads.size)
    if call.op == "GroupQueryAttention" and not asked:
        return [_attend(call, query, key, value, scale=float(scale))]
    if times > 1:
        key, value = (_repeated(call, part, heads, times) for part in (key, value))
    scores = call.emit("MatMul", query, call.transpose(key, (0, 1, 3, 2)))
    return _weighed(call, call.emit("Mul", scores, call.numbers(scale)), value)[: 1 + asked]


def _repeated(call: OnnxCall, x: str, heads: _OnnxHeads, times: int) -> str:
    """Each head so many times, one after another."""
    batch, steps = call.shape[0], call.shapes[1][1]
    apart = call.reshape(x, (batch, heads.keys, 1, steps, heads.size))
    wide = call.emit("Expand", apart, call.sizes((batch, heads.keys, times, steps, heads.size)))
    return call.reshape(wide, (batch, heads.queries, steps, heads.size))


def _split(call: OnnxCall, x: str, name: str, steps: int) -> str:
    """Projected, and as (batch, heads, steps, size)."""
    heads, size = call.weights[f"{name}/kernel"].shape[1:]
    flat = call.reshape(_projected(call, x, name, taken=1), (call.shape[0], steps, heads, size))
    return call.transpose(flat, (0, 2, 1, 3))


def _projected(call: OnnxCall, x: str, name: str, *, taken: int) -> str:
    """``x`` times the kernel as a matrix: its first ``taken`` axes against all others."""

    def as_matrix(kernel: Array) -> Array:
        return kernel.reshape(int(np.prod(kernel.shape[:taken])), -1)

    found = call.emit("MatMul", x, call.weight(f"{name}/kernel", as_matrix))
    bias = f"{name}/bias"
    return call.emit("Add", found, call.weight(bias, np.ravel)) if bias in call.weights else found


ATTENTION_LAYERS: dict[str, Lowering] = {
    "AdditiveAttention": _additive,
    "Attention": _plain,
    "GroupQueryAttention": _grouped,
    "MultiHeadAttention": _multi,
}
