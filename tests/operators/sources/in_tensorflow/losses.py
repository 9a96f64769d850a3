"""Losses: one number for a batch of labels and predictions."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from .registry import Params, Tensor

EPSILON = tf.constant(1e-7, tf.float64)
_ONE = tf.constant(1.0, tf.float64)


def _mean(each: Tensor) -> Tensor:
    return tf.reduce_mean(each)


def _inside(shares: Tensor) -> Tensor:
    return tf.clip_by_value(shares, EPSILON, _ONE - EPSILON)


def _shares(p: Params, guess: Tensor) -> Tensor:
    return tf.nn.softmax(guess) if p["from_logits"] else guess / tf.reduce_sum(guess, axis=-1, keepdims=True)


def _binary(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    labels = labels + p["label_smoothing"] * (0.5 - labels)
    if p["from_logits"]:
        return _mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, guess))
    return _mean(_surprise(labels, _inside(guess)))


def _surprise(labels: Tensor, chances: Tensor) -> Tensor:
    return -(tf.math.xlogy(labels, chances) + tf.math.xlog1py(1.0 - labels, -chances))


def _categorical(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    labels = labels + p["label_smoothing"] * (1.0 / labels.shape[-1] - labels)
    if p["from_logits"]:
        return _mean(tf.nn.softmax_cross_entropy_with_logits(labels, guess))
    return -_mean(tf.reduce_sum(tf.math.xlogy(labels, _inside(_shares(p, guess))), axis=-1))


def _sparse(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    if p["ignore_class"] is not None:
        kept = tf.where(labels != p["ignore_class"])[:, 0]
        if not len(kept):
            return 0.0 * tf.reduce_sum(guess)
        labels, guess = tf.gather(labels, kept), tf.gather(guess, kept)
    if p["from_logits"]:
        return _mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, guess))
    return -_mean(tf.math.log(_inside(tf.gather(_shares(p, guess), labels, axis=-1, batch_dims=1))))


def _percentage(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    return 100.0 * _mean(tf.abs(labels - guess) / tf.maximum(tf.abs(labels), EPSILON))


def _logarithmic(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    logs = [tf.math.log1p(tf.maximum(x, EPSILON)) for x in (labels, guess)]
    return _mean(tf.math.squared_difference(*logs))


def _cosine(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    units = [tf.math.l2_normalize(x, axis=-1, epsilon=EPSILON**2) for x in (labels, guess)]
    return -_mean(tf.reduce_sum(units[0] * units[1], axis=-1))


def _huber(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """A square as far as delta, and a line with the slope it has there."""
    size = tf.abs(guess - labels)
    square = tf.minimum(size, p["delta"])
    return _mean(0.5 * square**2 + p["delta"] * (size - square))


def _log_cosh(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    gap = guess - labels
    return _mean(tf.reduce_logsumexp(tf.stack([gap, -gap]), axis=0) - tf.math.log(2.0 * _ONE))


def _poisson(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    return _mean(guess - labels * tf.math.log(guess + EPSILON))


def _margins(labels: Tensor, guess: Tensor) -> Tensor:
    signs = tf.where(labels > 0.5, _ONE, -_ONE)
    return tf.nn.relu(1.0 - signs * guess)


def _categorical_hinge(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """The largest of (1 - label) prediction: the right class takes part with 0."""
    right = tf.reduce_sum(tf.boolean_mask(guess, labels > 0.5)[:, None], axis=-1)
    wrong = tf.reduce_max(tf.where(labels > 0.5, tf.zeros_like(guess), guess), axis=-1)
    return _mean(tf.nn.relu(wrong - right + 1.0))


def _divergence(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    labels, guess = (tf.clip_by_value(x, EPSILON, _ONE) for x in (labels, guess))
    return _mean(tf.reduce_sum(labels * (tf.math.log(labels) - tf.math.log(guess)), axis=-1))


def _binary_focal(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    labels = labels + p["label_smoothing"] * (0.5 - labels)
    chances = tf.sigmoid(guess) if p["from_logits"] else guess
    right = labels * chances + (1.0 - labels) * (1.0 - chances)
    each = tf.pow(1.0 - right, p["gamma"]) * _surprise(labels, _inside(chances))
    if p["apply_class_balancing"]:
        each = p["alpha"] * labels * each + (1.0 - p["alpha"]) * (1.0 - labels) * each
    return _mean(each)


def _categorical_focal(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    shares = _inside(_shares(p, guess))
    labels = labels + p["label_smoothing"] * (1.0 / labels.shape[-1] - labels)
    each = p["alpha"] * tf.pow(1.0 - shares, p["gamma"]) * -tf.math.xlogy(labels, shares)
    return _mean(tf.reduce_sum(each, axis=-1))


def _dice(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    together, total = (tf.reduce_sum(x, axis=p["axis"]) for x in (labels * guess, labels + guess))
    return _mean(1.0 - 2.0 * together / (total + EPSILON))


def _tversky(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """Alpha is documented as the coefficient of false positives, beta as that of false negatives."""
    parts = (labels * guess, (1.0 - labels) * guess, labels * (1.0 - guess))
    hits, positives, negatives = (tf.reduce_sum(part, axis=p["axis"]) for part in parts)
    return _mean(1.0 - hits / (hits + p["alpha"] * positives + p["beta"] * negatives + EPSILON))


def _circle(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    """Over all pairs, in sums of exponentials; samples without a partner or an opponent have no loss."""
    distance = tf.nn.relu(1.0 - tf.matmul(guess, guess, transpose_b=True))
    same = tf.cast(labels[:, None] == labels[None, :], tf.float64)
    kept = tf.linalg.set_diag(same, tf.zeros_like(same[0])) if p["remove_diagonal"] else same
    pulled = tf.exp(p["gamma"] * (tf.square(distance) - p["margin"] ** 2))
    pushed = tf.exp(p["gamma"] * tf.nn.relu(1.0 + p["margin"] - distance) * (1.0 - p["margin"] - distance))
    both = tf.reduce_sum(kept * pulled, axis=1) * tf.reduce_sum((1.0 - same) * pushed, axis=1)
    losses = tf.math.log1p(tf.boolean_mask(both, both > 0.0))
    return tf.math.divide_no_nan(tf.reduce_sum(losses), tf.cast(tf.size(losses), tf.float64))


def _generalized(p: Params, labels: Tensor, guess: Tensor) -> Tensor:
    right = tf.gather(guess, labels, axis=-1, batch_dims=1)
    return _mean(1.0 - tf.pow(right, p["q"])) / p["q"]


LOSSES: dict[str, Callable[[Params, Tensor, Tensor], Tensor]] = {
    "MeanSquaredError": lambda p, labels, guess: _mean(tf.math.squared_difference(labels, guess)),
    "MeanAbsoluteError": lambda p, labels, guess: _mean(tf.abs(labels - guess)),
    "BinaryCrossentropy": _binary,
    "CategoricalCrossentropy": _categorical,
    "SparseCategoricalCrossentropy": _sparse,
    "MeanAbsolutePercentageError": _percentage,
    "MeanSquaredLogarithmicError": _logarithmic,
    "CosineSimilarity": _cosine,
    "Huber": _huber,
    "LogCosh": _log_cosh,
    "Poisson": _poisson,
    "Hinge": lambda p, labels, guess: _mean(_margins(labels, guess)),
    "SquaredHinge": lambda p, labels, guess: _mean(tf.square(_margins(labels, guess))),
    "CategoricalHinge": _categorical_hinge,
    "KLDivergence": _divergence,
    "BinaryFocalCrossentropy": _binary_focal,
    "CategoricalFocalCrossentropy": _categorical_focal,
    "Dice": _dice,
    "Tversky": _tversky,
    "Circle": _circle,
    "CategoricalGeneralizedCrossEntropy": _generalized,
}
