"""Attention as its formulas have it: scores, softmax, weighted values."""

from __future__ import annotations

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


@layer("MultiHeadAttention", "GroupQueryAttention")
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
