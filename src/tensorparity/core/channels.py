"""How two arrays of any dtype are compared, in one place.

Floating numbers of every width are compared as float64, which holds them all. A complex number is two such
channels, its real and its imaginary part. Integers, booleans and strings are exact: they are equal or they
are not, also beyond 2**53, where float64 no longer tells them apart.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array


def is_text(array: Array) -> bool:
    return array.dtype.kind in "USO"


def is_exact(array: Array) -> bool:
    """Integers (also the four-bit ones), booleans and strings: nothing is rounded."""
    return array.dtype.kind in "iubUSO" or array.dtype.name.startswith(("int", "uint"))


def channels(array: Array) -> Array:
    """Numbers as float64 with one axis more at the end: of two for real and imaginary part, else of one."""
    if array.dtype.kind == "c":
        wide = array.astype(np.complex128)
        return np.stack([wide.real, wide.imag], axis=-1)
    return array.astype(np.float64)[..., None]


def paired_channels(a: Array, b: Array) -> tuple[Array, Array]:
    """The channels of both; a real number beside a complex one has an imaginary part of zero."""
    if "c" in (a.dtype.kind, b.dtype.kind):
        a, b = a.astype(np.complex128), b.astype(np.complex128)
    return channels(a), channels(b)


def from_channels(parts: Array) -> Array:
    """What ``channels`` took apart."""
    if parts.shape[-1] == 1:
        return parts[..., 0]
    whole: Array = np.empty(parts.shape[:-1], np.complex128)
    whole.real, whole.imag = parts[..., 0], parts[..., 1]
    return whole


def same(a: Array, b: Array) -> Array:
    """Elementwise: equal, where a NaN equals a NaN in the same channel."""
    if is_text(a) or is_text(b):
        return np.asarray(a.astype(object) == b.astype(object), dtype=bool)
    if is_exact(a) and is_exact(b):
        return np.asarray(a == b, dtype=bool)
    parts_a, parts_b = paired_channels(a, b)
    alike = (parts_a == parts_b) | (np.isnan(parts_a) & np.isnan(parts_b))
    return np.asarray(alike.all(axis=-1))


def distance(a: Array, b: Array) -> Array:
    """Elementwise |a - b| in float64: 0 exactly where the two are the same, infinite where one is not finite.

    Integers that differ are at least 1 apart, strings that differ are 1 apart.
    """
    alike = same(a, b)
    if is_text(a) or is_text(b):
        return np.where(alike, 0.0, 1.0)
    with np.errstate(all="ignore"):
        parts_a, parts_b = paired_channels(a, b)
        steps = np.abs(parts_a - parts_b)
        steps = np.where((parts_a == parts_b) | (np.isnan(parts_a) & np.isnan(parts_b)), 0.0, steps)
        apart = np.hypot(steps[..., 0], steps[..., 1]) if steps.shape[-1] == 2 else steps[..., 0]
    least = 1.0 if is_exact(a) and is_exact(b) else 0.0
    return np.where(alike, 0.0, np.maximum(np.where(np.isnan(apart), np.inf, apart), least))


def magnitude(array: Array) -> Array:
    """Elementwise |x| in float64; strings have none."""
    if is_text(array):
        return np.zeros(array.shape)
    parts = channels(array)
    with np.errstate(all="ignore"):
        size: Array = np.hypot(parts[..., 0], parts[..., 1]) if parts.shape[-1] == 2 else np.abs(parts[..., 0])
    return size


def is_finite(array: Array) -> Array:
    """Elementwise: neither NaN nor infinite in any channel; what is exact always is."""
    if is_exact(array):
        return np.ones(array.shape, dtype=bool)
    return np.asarray(np.isfinite(channels(array)).all(axis=-1))


def is_nan(array: Array) -> Array:
    """Elementwise: NaN in some channel; what is exact never is."""
    if is_exact(array):
        return np.zeros(array.shape, dtype=bool)
    return np.asarray(np.isnan(channels(array)).any(axis=-1))
