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
    kept = labels != p["ignore_class"] if p["ignore_class"] is not None else torch.ones_like(labels, dtype=torch.bool)
    if not kept.any():
        return 0 * guess.sum()
    guess, labels = guess[kept], labels[kept]
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
    labels = labels * (1 - p["label_smoothing"]) + p["label_smoothing"] / 2
    chances = torch.sigmoid(guess) if p["from_logits"] else guess
    missed = torch.lerp(chances, 1 - chances, labels)
    clipped = chances.clamp(EPSILON, 1 - EPSILON)
    weight = p["alpha"] * labels + (1 - p["alpha"]) * (1 - labels) if p["apply_class_balancing"] else None
    return (missed ** p["gamma"] * functional.binary_cross_entropy(clipped, labels, weight, reduction="none")).mean()


def _categorical_focal(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    labels = torch.lerp(labels, torch.full_like(labels, 1 / labels.shape[-1]), p["label_smoothing"])
    shares = functional.softmax(guess, -1) if p["from_logits"] else functional.normalize(guess, p=1, dim=-1)
    shares = shares.clamp(EPSILON, 1 - EPSILON)
    return -(p["alpha"] * (1 - shares) ** p["gamma"] * labels * shares.log()).sum(-1).mean()


def _dice(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    hits, truth, found = _overlap(p, labels, guess)
    return (1 - 2 * hits / (truth + found + EPSILON)).mean()


def _tversky(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """Alpha is documented as the coefficient of false positives, beta as that of false negatives."""
    hits, truth, found = _overlap(p, labels, guess)
    return (1 - hits / (hits + p["alpha"] * (found - hits) + p["beta"] * (truth - hits) + EPSILON)).mean()


def _overlap(p: Params, labels: Tensor, guess: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sums of both, of the labels and of the predictions, over everything or over the classes."""
    if p["axis"] is None:
        labels, guess = labels.reshape(1, -1), guess.reshape(1, -1)
    return torch.einsum("nc,nc->n", labels, guess), labels.sum(-1), guess.sum(-1)


def _ctc(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """Torch's own mean divides by the lengths of the labels."""
    logs = functional.log_softmax(guess, -1).movedim(0, 1)
    steps = torch.full((guess.shape[0],), guess.shape[1])
    return functional.ctc_loss(logs, labels, steps, (labels != 0).sum(-1), reduction="none").mean()


def _circle(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """Sample by sample, over those of its class and those of the others; who lacks either has no loss."""
    found = []
    for index, (label, row) in enumerate(zip(labels, guess, strict=True)):
        distance = functional.relu(1 - guess @ row)
        same = labels == label
        kept = same & (torch.arange(len(labels)) != index) if p["remove_diagonal"] else same
        near, far = distance[kept], distance[~same]
        if len(near) and len(far):
            pulled = p["gamma"] * (near + p["margin"]) * (near - p["margin"])
            pushed = p["gamma"] * functional.relu(1 + p["margin"] - far) * (1 - p["margin"] - far)
            found.append(torch.logaddexp(pulled.logsumexp(0) + pushed.logsumexp(0), torch.zeros(()).to(guess)))
    return torch.stack(found).mean() if found else 0 * guess.sum()


def _generalized(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    right = guess.gather(-1, labels[:, None]).squeeze(-1)
    return ((1 - right ** p["q"]) / p["q"]).mean()


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
    "CTC": _ctc,
    "Circle": _circle,
    "CategoricalGeneralizedCrossEntropy": _generalized,
}
