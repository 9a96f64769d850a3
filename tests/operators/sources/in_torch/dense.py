"""Dense layers, normalizations, tables and codes."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from .functions import ACTIVATIONS
from .registry import Params, Tensor, Weights, layer


@layer("Dense")
def _dense(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return ACTIVATIONS[p["activation"]](functional.linear(inputs[0], weights["kernel"].T, weights.get("bias")))


@layer("EinsumDense")
def _einsum(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    found = torch.einsum(p["equation"], inputs[0], weights["kernel"])
    return ACTIVATIONS[p["activation"]](found + weights["bias"] if "bias" in weights else found)


@layer("Dot")
def _dot(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    """The summed axis last in one and second in the other, everything else flat: a batch of matrix products."""
    axes = [p["axes"]] * 2 if isinstance(p["axes"], int) else p["axes"]
    moved = []
    for x, axis in zip(inputs, axes, strict=True):
        x = functional.normalize(x, dim=axis, eps=1e-7) if p["normalize"] else x
        moved.append(x.movedim(axis, -1))
    a, b = moved
    found = torch.bmm(a.flatten(1, -2) if a.dim() > 2 else a[:, None], _columns(b))
    rest = (*a.shape[1:-1], *b.shape[1:-1])
    return found.reshape(a.shape[0], *(rest or (1,)))


def _columns(b: Tensor) -> Tensor:
    return (b.flatten(1, -2) if b.dim() > 2 else b[:, None]).transpose(1, 2)


@layer("Embedding")
def _embedding(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return functional.embedding(inputs[0], weights["embeddings"])


@layer("ReversibleEmbedding")
def _reversible(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    if not p["reverse"]:
        return _embedding(p, inputs, weights)
    table = weights["embeddings"] if p["tie_weights"] else weights["reverse_embeddings"].T
    logits, cap = functional.linear(inputs[0], table), p["logit_soft_cap"]
    return logits if cap is None else cap * torch.tanh(logits / cap)


@layer("Masking")
def _masking(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    return x.masked_fill((x == p["mask_value"]).all(dim=-1, keepdim=True), 0.0)


# Normalizations


def _axes(p: Params, x: Tensor) -> list[int]:
    items = [p["axis"]] if isinstance(p["axis"], int) else p["axis"]
    return sorted(axis % x.dim() for axis in items)


def _on_last(x: Tensor, axes: list[int], function: Any) -> Tensor:
    """``function`` of a tensor whose last axes are these, and of their sizes."""
    places = list(range(x.dim() - len(axes), x.dim()))
    moved = x.movedim(axes, places)
    return function(moved, moved.shape[places[0] :]).movedim(places, axes)


@layer("BatchNormalization")
def _batch(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0].movedim(p["axis"], 1)
    moving = weights["moving_mean"].detach().clone(), weights["moving_variance"].detach().clone()
    gamma, beta = weights.get("gamma"), weights.get("beta")
    if p["training"] and p["renorm"]:
        gamma, beta = _renormed(p, x, weights)
    return functional.batch_norm(x, *moving, gamma, beta, p["training"], eps=p["epsilon"]).movedim(1, p["axis"])


def _renormed(p: Params, x: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """Gamma and beta that are moved by the correction, of which autograd knows nothing."""
    clipping = {"rmin": 0.0, "rmax": float("inf"), "dmax": float("inf"), **(p["renorm_clipping"] or {})}
    with torch.no_grad():
        flat = x.transpose(0, 1).flatten(1)
        moving = weights["renorm_stddev"].clamp(min=p["epsilon"] ** 0.5)
        r = (flat.var(1, correction=0) + p["epsilon"]).sqrt().div(moving).clamp(clipping["rmin"], clipping["rmax"])
        d = flat.mean(1).sub(weights["renorm_mean"]).div(moving).clamp(-clipping["dmax"], clipping["dmax"])
    gamma = weights.get("gamma", torch.ones_like(r))
    return gamma * r, gamma * d + weights.get("beta", torch.zeros_like(r))


@layer("LayerNormalization")
def _layer(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    affine = weights.get("gamma"), weights.get("beta")
    axes = _axes(p, inputs[0])
    return _on_last(inputs[0], axes, lambda x, shape: functional.layer_norm(x, shape, *affine, p["epsilon"]))


@layer("GroupNormalization")
def _group(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0].movedim(p["axis"], 1)
    groups = x.shape[1] if p["groups"] == -1 else p["groups"]
    ones = torch.ones(x.shape[1], dtype=x.dtype)  # with a bias and no weight, its gradient raises
    affine = weights.get("gamma", ones), weights.get("beta")
    return functional.group_norm(x, groups, *affine, p["epsilon"]).movedim(1, p["axis"])


@layer("RMSNormalization")
def _rms(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    axes = _axes(p, inputs[0])
    return _on_last(
        inputs[0], axes, lambda x, shape: functional.rms_norm(x, tuple(shape), weights["scale"], p["epsilon"])
    )


@layer("UnitNormalization")
def _unit(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    axes = _axes(p, inputs[0])
    return _on_last(
        inputs[0], axes, lambda x, shape: functional.normalize(x.flatten(-len(shape)), dim=-1).reshape(x.shape)
    )


@layer("Normalization")
def _normalization(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    x = inputs[0]
    kept = [] if p["axis"] is None else _axes(p, x)
    shape = [size if axis in kept else 1 for axis, size in enumerate(x.shape)]
    mean, variance = (
        weights[name].reshape(shape) if name in weights else torch.tensor(float(p[name]), dtype=x.dtype)
        for name in ("mean", "variance")
    )
    deviation = variance.sqrt().clamp(min=1e-7)
    return torch.addcmul(mean, x, deviation) if p["invert"] else (x - mean) / deviation


@layer("Rescaling")
def _rescaling(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    return torch.add(p["offset"], inputs[0], alpha=p["scale"])


# Codes


def _encoded(mode: str, depth: int, indices: Tensor) -> Tensor:
    flags = functional.one_hot(indices, depth).double()
    if mode == "one_hot":
        return flags.squeeze(-2) if indices.dim() > 1 and indices.shape[-1] == 1 else flags
    return flags.amax(dim=-2) if mode == "multi_hot" else flags.sum(dim=-2)


@layer("Discretization")
def _discretization(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    bounds = torch.tensor(p["bin_boundaries"], dtype=torch.float64)
    indices = torch.bucketize(inputs[0], bounds, right=True)
    return indices.double() if p["output_mode"] == "int" else _encoded(p["output_mode"], len(bounds) + 1, indices)


@layer("CategoryEncoding")
def _categories(p: Params, inputs: list[Tensor], weights: Weights) -> Tensor:
    if len(inputs) > 1:
        nothing = torch.zeros(*inputs[0].shape[:-1], p["num_tokens"], dtype=torch.float64)
        return nothing.scatter_add(-1, inputs[0].long(), inputs[1])
    return _encoded(p["output_mode"], p["num_tokens"], inputs[0])
