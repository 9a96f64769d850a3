"""Numbers for arrays: classes of values for every dtype, also those at which functions break."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array, dtype_named, is_floating

#: Of the array's numbers that are special in their class; the others are ordinary.
_SHARE = 0.3
PLAIN = "ordinary numbers"
CONSTANT, SINGULAR = "constant", "singular"
CLASSES = (PLAIN, "small whole numbers", "ties", "zeros of both signs", "extremes", "subnormals", "not finite",
           CONSTANT, SINGULAR)  # fmt: skip
DTYPES = ("float32", "float64", "int32", "float16", "bfloat16", "int64", "bool", "complex64", "uint8", "int8", "int16",
          "complex128", "uint16", "uint32", "uint64")  # fmt: skip
_PARTS = {"complex64": "float32", "complex128": "float64"}


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, values: str, domain: str = "") -> Array:
    """An array of that class; ``domain`` keeps it positive or within 0 and 1."""
    if values in (CONSTANT, SINGULAR):
        return _alike(draw(rng, shape, dtype, PLAIN, domain), values)
    if dtype == "bool":
        return rng.random(shape) < (0.5 if values != "ties" else 1.0)
    if dtype.startswith("complex"):
        array = np.empty(shape, dtype)
        array.real, array.imag = (draw(rng, shape, _PARTS[dtype], values, domain) for _ in range(2))
        return array
    if not is_floating(dtype):
        return _whole(rng, shape, dtype, values)
    return _floating(rng, shape, dtype, values, domain)


def _alike(array: Array, values: str) -> Array:
    """All numbers alike, or all rows of every matrix."""
    if not array.size:
        return array
    one = array.reshape(-1)[:1].reshape(()) if values == CONSTANT or array.ndim < 2 else array[..., :1, :]
    return np.array(np.broadcast_to(one, array.shape))


def _whole(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, values: str) -> Array:
    limits = np.iinfo(dtype)
    array = rng.integers(max(limits.min, -9), 10, shape).astype(dtype)
    special: list[int] = {
        "extremes": [limits.min, limits.max, limits.max - 1],
        "zeros of both signs": [0],
        "ties": [3],
        "small whole numbers": [0, 1, max(limits.min, -1)],
    }.get(values, [])
    return _sprinkled(rng, array, np.array(special, dtype)) if special else array


def _floating(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, values: str, domain: str) -> Array:
    wide: Any = rng.random(shape) * 0.98 + 0.01 if domain == "unit" else rng.standard_normal(shape) * 2
    if domain == "positive":
        wide = np.abs(wide) + 0.1
    if values == "small whole numbers" and domain != "unit":
        wide = rng.integers(1 if domain else -3, 4, shape).astype(np.float64)
    array = np.asarray(wide).astype(dtype_named(dtype))
    return _sprinkled(rng, array, _special(dtype, values, domain)) if values not in CLASSES[:2] else array


def _special(dtype: str, values: str, domain: str) -> Array:
    wide = dtype_named(dtype)
    largest = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4e38, "float64": 1.7e308}[dtype]
    smallest = {"float16": 6e-8, "bfloat16": 1e-40, "float32": 1e-45, "float64": 5e-324}[dtype]
    found = {
        "ties": [0.5],
        "zeros of both signs": [0.0, -0.0],
        # among them what overflows, or vanishes, when it is squared
        "extremes": [largest, -largest, 1.0, -1.0, 8 * largest**0.5, -8 * largest**0.5, smallest**0.5 / 8],
        "subnormals": [smallest, -smallest, smallest * 8],
        "not finite": [np.nan, np.inf, -np.inf],
    }[values]
    kept = [value for value in found if not domain or np.isnan(value) or value >= 0]
    kept = [min(value, 1.0) for value in kept] if domain == "unit" else kept
    with np.errstate(all="ignore"):
        return np.array(kept, np.float64).astype(wide)


def _sprinkled(rng: np.random.Generator, array: Array, special: Array) -> Array:
    array = np.array(array)
    flat = array.reshape(-1)
    chosen = rng.random(flat.shape) < _SHARE
    if flat.size and not chosen.any():
        chosen[int(rng.integers(flat.size))] = True
    flat[chosen] = special[rng.integers(len(special), size=int(chosen.sum()))]
    return flat.reshape(array.shape)


def matrix_like(array: Array, kind: str) -> Array:
    """The last two axes made positive definite, or triangular."""
    if kind == "triangular":
        return np.asarray(np.tril(array) + 2 * np.eye(array.shape[-1], dtype=array.dtype)).astype(array.dtype)
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    product = wide @ np.conj(np.swapaxes(wide, -1, -2)) + np.eye(wide.shape[-1])
    return np.asarray(product).astype(array.dtype)
