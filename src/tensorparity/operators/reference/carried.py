"""Arithmetic on values that carry rounding: for layers of several steps, each of which rounds.

Every function returns the value and what its own rounding adds to what the operands brought along,
to first order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.arrays import Array
from ..spec import Evaluation
from .rounding import growth


def plus(a: Evaluation, b: Evaluation) -> Evaluation:
    value = a.value + b.value
    return Evaluation(value, a.kappa + b.kappa + np.abs(value))


def shifted(a: Evaluation, offset: Array) -> Evaluation:
    """Plus an exact term: the rounding may happen to either operand, as ``biased`` counts it."""
    return Evaluation(a.value + offset, a.kappa + np.abs(offset))


def times(a: Evaluation, b: Evaluation) -> Evaluation:
    value = a.value * b.value
    return Evaluation(value, a.kappa * np.abs(b.value) + np.abs(a.value) * b.kappa + np.abs(value))


def scaled(a: Evaluation, factor: Array | float) -> Evaluation:
    """Times an exact factor."""
    value = a.value * factor
    return Evaluation(value, a.kappa * np.abs(factor) + np.abs(value))


def complement(a: Evaluation) -> Evaluation:
    """1 - a. What rounding did to a near 1 is all of the difference."""
    return Evaluation(1.0 - a.value, a.kappa + np.abs(a.value) + np.abs(1.0 - a.value))


def product(a: Evaluation, matrix: Array) -> Evaluation:
    """``a @ matrix`` for an exact matrix."""
    magnitude = np.abs(matrix)
    return Evaluation(a.value @ matrix, a.kappa @ magnitude + growth(matrix.shape[-2]) * (np.abs(a.value) @ magnitude))


def einsum(equation: str, a: Evaluation, b: Evaluation, terms: int) -> Evaluation:
    """A contraction of two operands over ``terms`` products per result."""
    big, great = np.abs(a.value), np.abs(b.value)
    kappa = np.einsum(equation, a.kappa, great) + np.einsum(equation, big, b.kappa)
    return Evaluation(np.einsum(equation, a.value, b.value), kappa + growth(terms) * np.einsum(equation, big, great))


def total(a: Evaluation, axis: int) -> Evaluation:
    """The sum along an axis."""
    rounding = growth(a.value.shape[axis]) * np.sum(np.abs(a.value), axis=axis)
    return Evaluation(np.sum(a.value, axis=axis), np.sum(a.kappa, axis=axis) + rounding)


def split(a: Evaluation, count: int) -> list[Evaluation]:
    """Equal parts of the last axis."""
    values, kappas = np.split(a.value, count, axis=-1), np.split(a.kappa, count, axis=-1)
    return [Evaluation(value, kappa) for value, kappa in zip(values, kappas, strict=True)]


def stack(parts: Sequence[Evaluation], axis: int) -> Evaluation:
    return Evaluation(
        np.stack([part.value for part in parts], axis=axis), np.stack([part.kappa for part in parts], axis=axis)
    )


def concatenate(parts: Sequence[Evaluation], axis: int) -> Evaluation:
    return Evaluation(
        np.concatenate([part.value for part in parts], axis=axis),
        np.concatenate([part.kappa for part in parts], axis=axis),
    )


def reverse(a: Evaluation, axis: int) -> Evaluation:
    return Evaluation(np.flip(a.value, axis), np.flip(a.kappa, axis))


def zeros(shape: tuple[int, ...]) -> Evaluation:
    return Evaluation(np.zeros(shape), np.zeros(shape))


def where(keep: Array, a: Evaluation, b: Evaluation) -> Evaluation:
    """``a`` for the samples that are kept, ``b`` for the others; ``keep`` has the leading axes."""
    wide = keep.reshape(keep.shape + (1,) * (a.value.ndim - keep.ndim))
    return Evaluation(np.where(wide, a.value, b.value), np.where(wide, a.kappa, b.kappa))
