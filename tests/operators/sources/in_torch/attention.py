"""Attention: torch's fused kernel for the output, its softmax for the scores."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from .registry import Params, Tensor, Weights, layer


def _visible(p: Params, queries: int, keys: int) -> Tensor:
    """True where a query may look."""
    places = torch.arange(queries)[:, None] - torch.arange(keys)[None]
    seen = torch.ones(queries, keys, dtype=torch.bool)
    if p["use_causal_mask"]:
        seen &= places >= 0
    if p.get("sliding_window") is not None:
        seen &= places.abs() < p["sliding_window"]
    return seen


def _weighed(p: Params, scores: Tensor) -> Tensor:
    hidden = ~_visible(p, scores.shape[-2], scores.shape[-1])
    return functional.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


def _returned(p: Params, found: Tensor, shares: Tensor) -> Any:
    return (found, shares) if p["return_attention_scores"] else found


@layer("Attention")
def _attention(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) > 2 else value
    scale = weights.get("scale", torch.ones((), dtype=torch.float64))
    if p["score_mode"] == "dot":
        mask = _visible(p, query.shape[1], key.shape[1])
        found = functional.scaled_dot_product_attention(query * scale, key, value, attn_mask=mask, scale=1.0)
        return _returned(p, found, _weighed(p, scale * torch.bmm(query, key.mT)))
    scores = torch.tanh(scale * (query[:, :, None] + key[:, None])).sum(-1) * weights["concat_score_weight"]
    shares = _weighed(p, scores)
    return _returned(p, torch.bmm(shares, value), shares)


@layer("AdditiveAttention")
def _additive(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) > 2 else value
    bent = torch.tanh(query[:, :, None] + key[:, None])
    scores = bent @ weights["scale"] if "scale" in weights else bent.sum(-1)
    shares = _weighed(p, scores)
    return _returned(p, torch.bmm(shares, value), shares)


def _projected(x: Tensor, name: str, weights: Weights) -> Tensor:
    """(batch, length, size) to (batch, heads, length, size of a head), by one linear map for all heads."""
    kernel = weights[f"{name}/kernel"]
    bias = weights.get(f"{name}/bias")
    flat = functional.linear(x, kernel.flatten(1).T, None if bias is None else bias.flatten())
    return flat.unflatten(-1, kernel.shape[1:]).transpose(1, 2)


def _heads(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) > 2 else value
    q, k, v = (_projected(x, name, weights) for x, name in ((query, "query"), (key, "key"), (value, "value")))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    mask = _visible(p, q.shape[2], k.shape[2])
    mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    if p["use_gate"]:
        mixed = mixed * torch.sigmoid(_projected(query, "gate", weights))
    kernel = weights["attention_output/kernel"]
    flat = mixed.transpose(1, 2).flatten(2)
    found = functional.linear(flat, kernel.flatten(0, 1).flatten(1).T)
    found = found.unflatten(-1, kernel.shape[2:]) if kernel.dim() > 3 else found
    bias = weights.get("attention_output/bias")
    found = found if bias is None else found + bias
    return _returned(p, found, _weighed(p, q @ k.mT / q.shape[-1] ** 0.5))


layer("GroupQueryAttention")(_heads)


@layer("MultiHeadAttention")
def _multi(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    return _heads(p, inputs, weights) if inputs[0].dim() == 3 else _over_axes(p, inputs, weights)


def _over_axes(p: Params, inputs: list[Tensor], weights: Weights) -> Any:
    """An Einstein sum for the scores and one for the values; attended axes have letters of their own on either side."""
    query, value, key = (*inputs, inputs[1])[:3]
    rank, axes = query.dim(), p["attention_axes"]
    items = list(range(1, rank - 1)) if axes is None else [axes] if isinstance(axes, int) else axes
    attended = [axis % rank for axis in items]
    own = "abcd"[: rank - 1] + "hs"
    other = "".join(letter.upper() if place in attended else letter for place, letter in enumerate(own))
    over = "".join(own[axis] for axis in attended)
    kept = "".join(letter for letter in own[:-2] if letter not in over) + "h"
    matrix = f"{kept}{over}{over.upper()}"
    parts = ((query, "query"), (key, "key"), (value, "value"), (query, "gate"))
    q, k, v, gate = (_mapped(x, name, weights) for x, name in parts)
    scores = torch.einsum(f"{own},{other}->{matrix}", q, k) / q.shape[-1] ** 0.5
    if len(attended) == 1:
        scores = scores.masked_fill(~_visible(p, *scores.shape[-2:]), -torch.inf)
    shares = functional.softmax(scores.flatten(-len(attended)), dim=-1).reshape(scores.shape)
    mixed = torch.einsum(f"{matrix},{other}->{own}", shares, v)
    mixed = mixed * torch.sigmoid(gate) if p["use_gate"] else mixed
    found = torch.tensordot(mixed, weights["attention_output/kernel"], 2)
    return _returned(p, found + weights.get("attention_output/bias", 0.0), shares)


def _mapped(x: Tensor, name: str, weights: Weights) -> Tensor:
    kernel = weights.get(f"{name}/kernel")
    return x if kernel is None else torch.tensordot(x, kernel, 1) + weights.get(f"{name}/bias", 0.0)
