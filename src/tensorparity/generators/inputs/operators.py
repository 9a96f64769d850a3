"""Inputs for operators: where numbers are drawn from, and how they are made to fit an operand and a dtype.

The paper draws from the standard normal alone. Errors live elsewhere: at other exponents, where sums cancel, beside
zeros, poles and the ends of the range. Each source below looks in one of these places; a search mixes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ...core import portable
from ...core.arrays import Array, dtype_named
from ...operators.functions.spec import Operand

#: Draws ``shape`` numbers for an operand; what lies outside of its domain is moved into it afterwards.
Source = Callable[[np.random.Generator, tuple[int, ...], Operand, str], Array]


@dataclass(frozen=True, slots=True)
class Range:
    """What a dtype can hold."""

    smallest: float
    largest: float
    digits: int

    @classmethod
    def of(cls, dtype: str) -> Range:
        info = ml_dtypes.finfo(dtype_named(dtype))  # type: ignore[no-untyped-call]
        return cls(float(info.smallest_normal), float(info.max), int(info.nmant) + 1)


def normal(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """The paper's: standard normal."""
    return rng.standard_normal(shape) * operand.scale


def wide(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Normal, with a scale of each row's own from a thousandth to a thousand, and sometimes a large mean."""
    rows = (shape[0], *(1,) * (len(shape) - 1))
    scale = portable.exp10(rng.uniform(-3, 3, rows))
    mean = np.where(rng.random(rows) < 0.3, portable.exp10(rng.uniform(0, 3, rows)), 0.0)
    return np.asarray(mean + scale * rng.standard_normal(shape))


def exponents(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Every exponent of the dtype is as likely as any other; half of the rows keep to a few neighbouring ones."""
    limits = Range.of(dtype)
    low, high = np.log2(limits.smallest) + 1, np.log2(limits.largest) - 1
    rows = (shape[0], *(1,) * (len(shape) - 1))
    centre = rng.uniform(low, high, rows)
    narrow = rng.random(rows) < 0.5
    exponent = np.where(narrow, centre + rng.uniform(-3, 3, shape), rng.uniform(low, high, shape))
    return np.asarray(rng.choice([-1.0, 1.0], shape) * portable.exp2(np.clip(exponent, low, high)))


def moderate(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Exponents from 2^-20 to 2^8: where most formulas change hands."""
    return np.asarray(rng.choice([-1.0, 1.0], shape) * portable.exp2(rng.uniform(-20, 8, shape)))


def critical(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Beside the points the operand declares (zeros, poles, kinks), at every distance down to one ulp."""
    limits = Range.of(dtype)
    points = np.array(operand.points or (0.0,))
    point = points[rng.integers(len(points), size=shape)]
    distance = portable.exp2(rng.uniform(-limits.digits - 1, 1, shape)) * np.maximum(np.abs(point), 1.0)
    return np.asarray(point + rng.choice([-1.0, 1.0], shape) * distance)


def overflow(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Near where exp, its like, and squares leave the range of the dtype, on both sides."""
    limits = Range.of(dtype)
    edges = np.array(
        [np.log(limits.largest), np.log(limits.smallest), np.sqrt(limits.largest), np.sqrt(limits.smallest), 1.0]
    )
    edge = edges[rng.integers(len(edges), size=(shape[0], *(1,) * (len(shape) - 1)))]
    return np.asarray(edge * rng.choice([-1.0, 1.0], shape) * (1.0 + rng.standard_normal(shape) * 0.2))


def cancelling_rows(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Rows whose terms nearly cancel: a value and its negative, a little apart, or a large mean with a small spread."""
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-2, 6, (shape[0], *(1,) * (len(shape) - 1)))
    if shape[-1] > 1:
        half = shape[-1] // 2
        other = -values[..., :half] * (1.0 + portable.exp2(rng.uniform(-20, -2, (*shape[:-1], half))))
        values[..., half : 2 * half] = other
    rows = rng.random(shape[0]) < 0.4
    base = portable.exp2(rng.uniform(0, 8, shape[0]))
    flat = base.reshape(-1, *(1,) * (len(shape) - 1)) * (1 + rng.standard_normal(shape) * 2.0**-8)
    return np.where(rows.reshape(-1, *(1,) * (len(shape) - 1)), flat, values)


def special(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Zeros of both signs, ones, halves, the smallest and largest numbers, among ordinary ones; constant rows."""
    limits = Range.of(dtype)
    ends = [limits.smallest, -limits.smallest, limits.largest, -limits.largest]
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.0, *ends])
    drawn = values[rng.integers(len(values), size=shape)]
    drawn = np.where(rng.random(shape) < 0.5, drawn, rng.standard_normal(shape))
    constant = rng.random((shape[0], *(1,) * (len(shape) - 1))) < 0.2
    first = drawn.reshape(shape[0], -1)[:, 0].reshape(-1, *(1,) * (len(shape) - 1))
    return np.where(constant, first, drawn)


def edge(rng: np.random.Generator, shape: tuple[int, ...], operand: Operand, dtype: str) -> Array:
    """Rows of one sign whose sum is just inside of the range, so that no order of adding leaves it.

    Of float16, which is added up in a wider dtype, rows of numbers that are just inside of it themselves.
    """
    largest, terms = Range.of(dtype).largest, int(np.prod(shape[1:])) or 1
    sign = rng.choice([-1.0, 1.0], (shape[0], *(1,) * (len(shape) - 1)))
    return np.asarray(sign * rng.uniform(0.5, 0.99, shape) * largest / (1 if dtype == "float16" else terms))


#: Operators that add up their inputs as they are: these are asked up to the edge of the range.
SUMS = frozenset(["sum", "mean", "l1_norm", "cumsum", "avg_pool1d", "avg_pool2d", "avg_pool3d", "global_avg_pool2d"])

#: Name of a strategy that keeps to one source, and the source.
SOURCES: dict[str, Source] = {
    "normal": normal,
    "wide": wide,
    "exponents": exponents,
    "moderate": moderate,
    "critical": critical,
    "overflow": overflow,
    "cancellation": cancelling_rows,
    "special": special,
}


def inside(values: Array, operand: Operand) -> Array:
    """Values moved into the operand's domain: mirrored at its only end, folded between two."""
    low, high = operand.low, operand.high
    if not np.isfinite(low):
        return values
    if np.isfinite(high):
        outside = (values < low) | (values > high)
        return np.where(outside, low + np.abs(values) % (high - low), values)
    return np.where(values < low, low + np.abs(values - low), values)


def fit_to_operand(values: Array, operand: Operand, dtype: str, *, middle: bool = False) -> Array:
    """Values inside the operand's domain and exactly representable in the dtype, in float64.

    Subnormal numbers become zero: half of the libraries flush them, as they are free to.

    Args:
        middle: only numbers whose squares, added up, neither overflow nor underflow: beyond them every literal
            implementation of a sum of products gives up, and says so by an infinity.
    """
    if middle:
        values = _middle(values, dtype)
    low, high, limits = operand.low, operand.high, Range.of(dtype)
    with np.errstate(all="ignore"):
        values = np.clip(inside(values, operand), max(low, -limits.largest), min(high, limits.largest))
        rounded = values.astype(dtype_named(dtype)).astype(np.float64)
    rounded = np.where(np.isfinite(rounded), rounded, 1.0)
    rounded = np.where(np.abs(rounded) < limits.smallest, np.copysign(0.0, rounded), rounded)
    for value in operand.without:
        rounded = np.where(rounded == value, 1.0, rounded)
    step = 2.0**-limits.digits
    rounded = np.where(rounded < low, low * (1 + np.sign(low) * 2 * step), rounded)
    return np.where(rounded > high, high * (1 - np.sign(high) * 2 * step), rounded)


def _middle(values: Array, dtype: str) -> Array:
    """Numbers beyond the middle of the range, with the exponent folded into it."""
    limits = Range.of(dtype)
    low, high = (np.sqrt(limits.smallest) * 32, np.sqrt(limits.largest) / 32)
    with np.errstate(all="ignore"):
        size = np.abs(values)
        span = portable.log2(high) - portable.log2(low)  # quotients of these overflow in float64
        folded = low * portable.exp2(np.abs(portable.log2(size) - portable.log2(low)) % span)
        outside = ((size > high) | (size < low)) & (size > 0)
    return np.where(outside & np.isfinite(folded), np.copysign(folded, values), values)


def draw(
    source: str,
    rng: np.random.Generator,
    shape: tuple[int, ...],
    operand: Operand,
    dtype: str,
    *,
    middle: bool = False,
) -> Array:
    """Inputs of one source, fitted."""
    return fit_to_operand(SOURCES[source](rng, shape, operand, dtype), operand, dtype, middle=middle)
