"""Attention as its formulas have it: scores, softmax, weighted values."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from .registry import Params, Tensor, Weights, layer

#: Added to what is hidden: its exponential is 0 in float64.
_FAR = -1e6


def _shares(p: Params, scores: Tensor) -> Tensor:
    queries, keys = scores.shape[-2:]
    gap = tf.range(queries)[:, None] - tf.range(keys)[None]
    hidden = tf.zeros([queries, keys], tf.bool)
    if p["use_causal_mask"]:
        hidden = tf.logical_or(hidden, gap < 0)
    if p.get("sliding_window") is not None:
        hidden = tf.logical_or(hidden, tf.abs(gap) >= p["sliding_window"])
    return tf.nn.softmax(scores + _FAR * tf.cast(hidden, tf.float64), axis=-1)


def _answer(p: Params, found: Tensor, shares: Tensor) -> Any:
    return (found, shares) if p["return_attention_scores"] else found


def _three(inputs: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Query, value, key; the value is the key where none is given."""
    return (*inputs, inputs[1])[:3]


@layer("Attention")
def _attention(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    query, value, key = _three(inputs)
    scale = weights["scale"] if p["use_scale"] else 1.0
    if p["score_mode"] == "dot":
        scores = scale * tf.einsum("bqd,bkd->bqk", query, key)
    else:
        sums = tf.tanh(scale * (tf.expand_dims(query, 2) + tf.expand_dims(key, 1)))
        scores = weights["concat_score_weight"] * tf.reduce_sum(sums, axis=-1)
    shares = _shares(p, scores)
    return _answer(p, tf.linalg.matmul(shares, value), shares)


@layer("AdditiveAttention")
def _additive(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    query, value, key = _three(inputs)
    sums = tf.tanh(tf.expand_dims(query, 2) + tf.expand_dims(key, 1))
    scores = tf.reduce_sum(sums * weights["scale"] if p["use_scale"] else sums, axis=-1)
    shares = _shares(p, scores)
    return _answer(p, tf.linalg.matmul(shares, value), shares)


def _projected(x: Tensor, name: str, weights: Weights) -> Tensor:
    found = tf.einsum("bts,shd->bthd", x, weights[f"{name}/kernel"])
    bias = weights.get(f"{name}/bias")
    return found if bias is None else found + bias


@layer("MultiHeadAttention")
def _multi(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    """Slice by slice of the axes that are not attended over, each an attention of rank 3."""
    rank, axes = len(inputs[0].shape), p["attention_axes"]
    items = list(range(1, rank - 1)) if axes is None else [axes] if isinstance(axes, int) else axes
    attended = [axis % rank for axis in items]
    cut = [axis for axis in range(1, rank - 1) if axis not in attended]
    places = [tf.transpose(x, [*cut, 0, *attended, rank - 1]) for x in inputs]
    sliced = [tf.reshape(x, [-1, x.shape[len(cut)], _count(x, cut, attended), x.shape[-1]]) for x in places]
    told = {**p, "return_attention_scores": True}
    found = [_heads(told, [x[at] for x in sliced], weights) for at in range(sliced[0].shape[0])]
    output, shares = (tf.stack(parts) for parts in zip(*found, strict=True))
    tail = output.shape[3:]
    output = tf.reshape(output, [*places[0].shape[:-1], *tail])
    back = [[*cut, 0, *attended].index(axis) for axis in range(rank - 1)]
    output = tf.transpose(output, [*back, *range(rank - 1, rank - 1 + len(tail))])
    over = [x.shape[len(cut) + 1 : -1] for x in (places[0], places[-1])]
    shares = tf.reshape(shares, [*places[0].shape[: len(cut) + 1], shares.shape[2], *over[0], *over[1]])
    shares = tf.transpose(shares, [len(cut), *range(len(cut)), *range(len(cut) + 1, len(shares.shape))])
    return _answer(p, output, shares)


def _count(x: Tensor, cut: list[int], attended: list[int]) -> int:
    return math.prod(x.shape[len(cut) + 1 : len(cut) + 1 + len(attended)])


@layer("GroupQueryAttention")
def _heads(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    """Head by head."""
    query, value, key = _three(inputs)
    q, k, v = (_projected(x, name, weights) for x, name in ((query, "query"), (key, "key"), (value, "value")))
    group = q.shape[2] // k.shape[2]
    mixed, shares = [], []
    for head in range(q.shape[2]):
        own = q[:, :, head] / tf.sqrt(tf.constant(q.shape[-1], tf.float64))
        shares.append(_shares(p, tf.linalg.matmul(own, k[:, :, head // group], transpose_b=True)))
        mixed.append(tf.linalg.matmul(shares[-1], v[:, :, head // group]))
    joined = tf.stack(mixed, axis=2)
    if p["use_gate"]:
        joined = joined * tf.sigmoid(_projected(query, "gate", weights))
    found = tf.tensordot(joined, weights["attention_output/kernel"], 2)
    bias = weights.get("attention_output/bias")
    found = found if bias is None else found + bias
    return _answer(p, found, tf.stack(shares, axis=1))
