"""Normalizations: BatchNormalization and LayerNormalization."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import flag, is_integer, known_size, number, refuse, sample_axes
from ..reference.rounding import growth, unit_of
from ..spec import Evaluation, LayerSpec, Mask, Parameter, Params, Shape, ShapeError, WeightSpec
from . import renormalization
from .governed import governed
from .masks import passed_on

_EPSILON = Parameter("epsilon", 1e-3, (1e-3, 1e-5, 1e-2, 1.0), ("much",))
_CENTER = Parameter("center", True, (True, False))
_SCALE = Parameter("scale", True, (True, False))
#: Keras adds its ``epsilon()`` to the number of steps that count, so that none is no division by zero.
_FUZZ = 1e-7


def _check_flags(params: Params) -> None:
    flag(params, "center")
    flag(params, "scale")
    number(params, "epsilon")


def affine(params: Params, shape: tuple[int, ...]) -> dict[str, WeightSpec]:
    found = {}
    if flag(params, "scale"):
        found["gamma"] = WeightSpec(shape, "scale")
    if flag(params, "center"):
        found["beta"] = WeightSpec(shape, "offset")
    return found


# BatchNormalization


def _batch_axis(params: Params, shape: Shape) -> int:
    if len(shape) < 2:
        raise ShapeError(f"Expected an input of rank 2 or more, batch axis included. Received: shape={shape}")
    if not is_integer(params["axis"]):
        refuse("axis", "one axis", params["axis"])
    (axis,) = sample_axes(params["axis"], "axis", len(shape))
    known_size(shape, axis, "the normalized one")
    return axis


def _batch_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    _check_flags(params)
    number(params, "momentum")
    renormalization.check(params)
    _batch_axis(params, shapes[0])
    return (shapes[0],)


def _batch_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    shape = (known_size(shapes[0], _batch_axis(params, shapes[0]), "the normalized one"),)
    return {
        **affine(params, shape),
        "moving_mean": WeightSpec(shape, "mean", trainable=False),
        "moving_variance": WeightSpec(shape, "variance", trainable=False),
        **(renormalization.weights(shape) if flag(params, "renorm") else {}),
    }


def _batch_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    along = [1] * x.ndim
    along[_batch_axis(params, x.shape)] = -1
    mean, variance = weights["moving_mean"].reshape(along), weights["moving_variance"].reshape(along)
    factor = 1.0 / np.sqrt(variance + number(params, "epsilon"))
    if flag(params, "scale"):
        factor = factor * weights["gamma"].reshape(along)
    beta = weights["beta"].reshape(along) if flag(params, "center") else np.zeros(())
    # Implementations may fold this into x * factor + (beta - mean * factor): the terms round separately.
    kappa = np.abs(x * factor) + np.abs(mean * factor) + np.abs(beta)
    return (Evaluation((x - mean) * factor + beta, kappa),)


def _batch_training(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    """With the statistics of the batch: over every axis but the normalized one."""
    return (_by_the_batch(params, inputs[0], weights, None),)


def mean_shown(x: Array, shown: Array | None, axes: tuple[int, ...]) -> Array:
    """The mean over axes, which stay, of what a mask shows; Keras adds a little to the count then."""
    if shown is None:
        return np.asarray(np.mean(x, axis=axes, keepdims=True))
    count = np.sum(shown, axis=axes, keepdims=True) + _FUZZ
    return np.asarray(np.sum(np.where(shown, x, 0.0), axis=axes, keepdims=True) / count)


def _batch_masked(
    params: Params, inputs: Sequence[Array], weights: Mapping[str, Array], masks: Sequence[Mask], training: bool
) -> tuple[Evaluation, ...]:
    """In training the statistics are of what the mask shows; all of the input is normalized by them."""
    x, mask = inputs[0], masks[0]
    if not training or mask is None:
        return (_batch_training if training else _batch_reference)(params, inputs, weights)
    if mask.ndim != x.ndim - 1:
        raise ShapeError(f"Expected a mask of one axis less than the input. Received: {mask.shape} for {x.shape}")
    return (_by_the_batch(params, x, weights, np.broadcast_to(mask[..., None], x.shape)),)


def _by_the_batch(params: Params, x: Array, weights: Mapping[str, Array], shown: Array | None) -> Evaluation:
    axis = _batch_axis(params, x.shape)
    along, others = [1] * x.ndim, tuple(index for index in range(x.ndim) if index != axis)
    along[axis] = -1
    gamma = weights["gamma"].reshape(along) if flag(params, "scale") else np.ones([1] * x.ndim)
    beta = weights["beta"].reshape(along) if flag(params, "center") else np.zeros([1] * x.ndim)
    epsilon = number(params, "epsilon")
    if not flag(params, "renorm"):
        return centred_and_scaled(x, others, epsilon, gamma, beta, shown)
    found, moving = _correction(params, x, weights, shown)
    r, d = (weights.get(name, array).reshape(along) for name, array in found.items())
    plain = centred_and_scaled(x, others, epsilon, gamma * r, beta + gamma * d, shown)
    # r and d are computed as well: r rounds like the deviation that is divided by, d like the mean.
    sums = growth(math.prod(x.shape[index] for index in others))
    means = sums * mean_shown(np.abs(x), shown, others) + np.abs(weights["renorm_mean"].reshape(along))
    apart = np.abs(gamma) * (means / moving.reshape(along) + np.abs(d)) + np.abs(beta)
    return Evaluation(plain.value, 2.0 * plain.kappa + apart)


def _correction(
    params: Params, x: Array, weights: Mapping[str, Array], shown: Array | None = None
) -> tuple[dict[str, Array], Array]:
    axis = _batch_axis(params, x.shape)
    others = tuple(index for index in range(x.ndim) if index != axis)
    mean = mean_shown(x, shown, others)
    variance = mean_shown(np.square(x - mean), shown, others)
    return renormalization.correction(params, mean.reshape(-1), variance.reshape(-1), weights)


def _batch_held(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> dict[str, Array]:
    return _correction(params, inputs[0], weights)[0] if flag(params, "renorm") else {}


_BATCH_NORMALIZATION = LayerSpec(
    name="BatchNormalization",
    api="keras.layers.BatchNormalization",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(
        Parameter("axis", -1, (-1, 1), (7, "channels")),
        Parameter("momentum", 0.99, (0.99, 0.9, 0.5), ("much",)),
        _EPSILON,
        _CENTER,
        _SCALE,
        *renormalization.PARAMETERS,
    ),
    conflicts=renormalization.CONFLICTS,
    shape=_batch_shape,
    weights=_batch_weights,
    reference=_batch_reference,
    training=_batch_training,
    held=_batch_held,
    formula="in inference, output = gamma * (input - moving_mean) / sqrt(moving_variance + epsilon) + beta",
    masked=_batch_masked,
    masks=passed_on,
    hazards=(
        "training uses the statistics of the batch and moves moving_mean and moving_variance",
        "with renorm it corrects them by moving ones, and no gradient flows through the correction",
    ),
)
BATCH_NORMALIZATION = governed(_BATCH_NORMALIZATION, gamma="gamma", beta="beta")


# LayerNormalization


def _layer_axes(params: Params, shape: Shape) -> tuple[int, ...]:
    """Ascending: that is the order of the axes of gamma and beta, whatever order they were given in."""
    return tuple(sorted(sample_axes(params["axis"], "axis", len(shape))))


def _layer_shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    _check_flags(params)
    for axis in _layer_axes(params, shapes[0]):
        known_size(shapes[0], axis, "a normalized one")
    return (shapes[0],)


def _layer_weights(params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    axes = _layer_axes(params, shapes[0])
    return affine(params, tuple(known_size(shapes[0], axis, "a normalized one") for axis in axes))


def centred_and_scaled(
    x: Array, axes: tuple[int, ...], epsilon: float | Array, gamma: Array, beta: Array, shown: Array | None = None
) -> Evaluation:
    """Normalize: gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics over ``axes``.

    Args:
        shown: what the statistics are of, where that is not everything.
    """
    unit = np.maximum(unit_of(x, axes), 1.0)
    x, epsilon = x / unit, epsilon / unit / unit
    centred = x - mean_shown(x, shown, axes)
    variance = mean_shown(np.square(centred), shown, axes)
    inverse = 1.0 / np.sqrt(variance + epsilon)

    sums = growth(math.prod(x.shape[axis] for axis in axes))
    # What rounding does to input - mean: each input and the mean, of which one rounds like a sum.
    shift = np.abs(x) + sums * mean_shown(np.abs(x), shown, axes)
    # And to the variance: the sum itself, and twice the rounding of each deviation, relative to var + epsilon.
    spread = sums * variance + 2.0 * mean_shown(np.abs(centred) * shift, shown, axes)
    factor = np.abs(inverse * gamma)
    kappa = factor * (shift + np.abs(centred) * (1.0 + 0.5 * spread * np.square(inverse))) + np.abs(beta)
    return Evaluation(centred * inverse * gamma + beta, kappa)


def _layer_reference(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    axes = _layer_axes(params, x.shape)
    along = [size if axis in axes else 1 for axis, size in enumerate(x.shape)]
    gamma = weights["gamma"].reshape(along) if flag(params, "scale") else np.ones(along)
    beta = weights["beta"].reshape(along) if flag(params, "center") else np.zeros(along)
    return (centred_and_scaled(x, axes, number(params, "epsilon"), gamma, beta),)


_LAYER_NORMALIZATION = LayerSpec(
    name="LayerNormalization",
    api="keras.layers.LayerNormalization",
    arity=(1, 1),
    ranks=(2, 3, 4, 5),
    parameters=(Parameter("axis", -1, (-1, 1, (-2, -1)), (7, "channels")), _EPSILON, _CENTER, _SCALE),
    shape=_layer_shape,
    weights=_layer_weights,
    reference=_layer_reference,
    formula=(
        "output = gamma * (input - mean) / sqrt(variance + epsilon) + beta, with mean and variance of each sample over "
        "the given axes"
    ),
    masks=passed_on,
    hazards=("a variance far below the squared mean cancels if it is computed as E[x^2] - E[x]^2",),
)
LAYER_NORMALIZATION = governed(_LAYER_NORMALIZATION, gamma="gamma", beta="beta")
