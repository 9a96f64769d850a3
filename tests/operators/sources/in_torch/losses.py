"""Losses: one number for a batch of labels and predictions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from .registry import Params, Tensor

EPSILON = 1e-7


def _binary(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    labels = labels * (1 - p["label_smoothing"]) + p["label_smoothing"] / 2
    if p["from_logits"]:
        return functional.binary_cross_entropy_with_logits(guess, labels)
    return functional.binary_cross_entropy(guess.clamp(EPSILON, 1 - EPSILON), labels)


def _logs(guess: Tensor) -> Tensor:
    return functional.normalize(guess, p=1, dim=-1).clamp(EPSILON, 1 - EPSILON).log()


def _categorical(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    smoothing = p["label_smoothing"]
    if p["from_logits"]:
        return functional.cross_entropy(guess, labels, label_smoothing=smoothing)
    smooth = torch.lerp(labels, torch.full_like(labels, 1 / labels.shape[-1]), smoothing)
    return -(smooth * _logs(guess)).sum(-1).mean()


def _sparse(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    return functional.cross_entropy(guess, labels) if p["from_logits"] else functional.nll_loss(_logs(guess), labels)


def _percentage(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    return 100 * ((labels - guess) / labels.abs().clamp(min=EPSILON)).abs().mean()


def _logarithmic(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    return functional.mse_loss(guess.clamp(min=EPSILON).log1p(), labels.clamp(min=EPSILON).log1p())


def _margins(labels: Tensor, guess: Tensor) -> Tensor:
    return functional.relu(1 - (2 * labels - 1) * guess)


def _categorical_hinge(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    wrong, right = ((1 - labels) * guess).amax(-1), (labels * guess).sum(-1)
    return functional.relu(1 + wrong - right).mean()


def _divergence(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """Torch's ``batchmean`` is the sum over classes, averaged over the batch."""
    labels, guess = labels.clamp(EPSILON, 1), guess.clamp(EPSILON, 1)
    return functional.kl_div(guess.log(), labels, reduction="batchmean")


def _binary_focal(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    chances = torch.sigmoid(guess) if p["from_logits"] else guess
    missed = torch.where(labels == 1, 1 - chances, chances)
    clipped = chances.clamp(EPSILON, 1 - EPSILON)
    return (missed ** p["gamma"] * functional.binary_cross_entropy(clipped, labels, reduction="none")).mean()


def _categorical_focal(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    shares = functional.softmax(guess, -1) if p["from_logits"] else functional.normalize(guess, p=1, dim=-1)
    shares = shares.clamp(EPSILON, 1 - EPSILON)
    return -(p["alpha"] * (1 - shares) ** p["gamma"] * labels * shares.log()).sum(-1).mean()


def _dice(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    return 1 - 2 * torch.dot(labels.ravel(), guess.ravel()) / (labels.sum() + guess.sum() + EPSILON)


def _tversky(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    hits = torch.dot(labels.ravel(), guess.ravel())
    missed, extra = labels.sum() - hits, guess.sum() - hits
    return 1 - hits / (hits + p["alpha"] * missed + p["beta"] * extra + EPSILON)


LOSSES: dict[str, Callable[[Params, Tensor, Tensor], Tensor]] = {
    "MeanSquaredError": lambda p, labels, guess: functional.mse_loss(guess, labels),
    "MeanAbsoluteError": lambda p, labels, guess: functional.l1_loss(guess, labels),
    "Huber": lambda p, labels, guess: functional.huber_loss(guess, labels, delta=p["delta"]),
    "Poisson": lambda p, labels, guess: functional.poisson_nll_loss(guess, labels, log_input=False, eps=EPSILON),
    "CosineSimilarity": lambda p, labels, guess: -functional.cosine_similarity(labels, guess, -1, EPSILON).mean(),
    "LogCosh": lambda p, labels, guess: (guess - labels).cosh().log().mean(),
    "BinaryCrossentropy": _binary,
    "CategoricalCrossentropy": _categorical,
    "SparseCategoricalCrossentropy": _sparse,
    "MeanAbsolutePercentageError": _percentage,
    "MeanSquaredLogarithmicError": _logarithmic,
    "Hinge": lambda p, labels, guess: _margins(labels, guess).mean(),
    "SquaredHinge": lambda p, labels, guess: _margins(labels, guess).square().mean(),
    "CategoricalHinge": _categorical_hinge,
    "KLDivergence": _divergence,
    "BinaryFocalCrossentropy": _binary_focal,
    "CategoricalFocalCrossentropy": _categorical_focal,
    "Dice": _dice,
    "Tversky": _tversky,
}
