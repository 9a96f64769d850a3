"""Shapes and values worth trying, from few enough of each that compilers meet them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...operators.spec import Domain

#: Shapes without the batch axis, by rank with it: sizes that differ, sizes that collide, 1, and 15 to 17.
SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((5,), (8,), (16,), (1,), (17,)),
    3: ((5, 4), (8, 3), (6, 6), (16, 2), (1, 7), (15, 4)),
    4: ((6, 5, 4), (8, 8, 3), (4, 4, 2), (5, 1, 3), (7, 6, 2)),
    5: ((4, 3, 5, 2), (4, 4, 4, 2), (2, 5, 3, 4)),
    6: ((3, 4, 3, 4, 2), (2, 3, 3, 3, 4)),
}


@dataclass(frozen=True, slots=True)
class DataShape:
    """What a data set says of a network: its input, its output and its task.

    Args:
        shape: of one instance; None draws one of the palette's.
        outputs: classes, or values of a regression; None draws.
        task: ``classification`` or ``regression``; empty for either.
        share: of the models that are made for it by default.
    """

    name: str
    shape: tuple[int, ...] | None
    outputs: int | None
    task: str
    share: float


@dataclass(frozen=True, slots=True)
class Samples:
    """Instances of a data set, and their labels: class indices, or values of shape (n, 1)."""

    inputs: Array
    labels: Array


#: The paper's six by shape (section 4.1.2), and the palette, which costs little and differs most.
DATA: dict[str, DataShape] = {
    data.name: data
    for data in (
        DataShape("palette", None, None, "", 0.85),
        DataShape("mnist", (28, 28, 1), 10, "classification", 0.03),
        DataShape("fashion-mnist", (28, 28, 1), 10, "classification", 0.02),
        DataShape("cifar10", (32, 32, 3), 10, "classification", 0.02),
        DataShape("imagenet", (224, 224, 3), 1000, "classification", 0.0),
        DataShape("sine-wave", (24, 1), 1, "regression", 0.04),
        DataShape("stock-price", (20, 1), 1, "regression", 0.04),
    )
}
PAPER = tuple(name for name in DATA if name != "palette")

#: Draws values of a shape.
Style = Callable[[np.random.Generator, tuple[int, ...]], Array]

_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1.5, -2.5, 3.0)
#: From where float32's exponential, cube and square overflow; the last is half of its greatest number.
_HUGE = (50.0, 5e12, 1e19, 1e30, 1.7e38)
#: Normal numbers of float32; what is smaller is zero to some libraries, by their own documentation.
_TINY = (1.2e-38, 1e-37, 1e-30, 1e-19, 1e-12, 1e-7)
#: How often a tensor among empty ones has elements, so that something comes out that is not zero.
_NOT_EMPTY = 0.25
#: How often integers are the ends of what a layer allows. Beyond them every library does what it likes.
_ENDS = 0.25


def _offset(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return 100.0 + rng.normal(0.0, 0.01, shape)


def _with_nan(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.2, np.nan, rng.standard_normal(shape))


def _with_infinities(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    infinite = rng.choice((-np.inf, np.inf), shape)
    return np.where(rng.random(shape) < 0.2, infinite, rng.standard_normal(shape))


def _around(values: tuple[float, ...]) -> Style:
    """Up to twice these values of either sign, among ordinary ones."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        extreme = rng.choice(values, shape) * rng.uniform(1.0, 2.0, shape) * rng.choice((-1.0, 1.0), shape)
        return np.where(rng.random(shape) < 0.5, extreme, rng.standard_normal(shape))

    return draw


#: Values by style; smooth ones more often, because ties make gradients a matter of convention.
STYLES: dict[str, tuple[float, Style]] = {
    "normal": (0.6, lambda rng, shape: rng.standard_normal(shape)),
    "unit": (0.12, lambda rng, shape: rng.random(shape)),
    "special": (0.08, lambda rng, shape: rng.choice(_SPECIAL, shape)),
    "few": (0.06, lambda rng, shape: rng.integers(-2, 3, shape).astype(np.float64)),
    "offset": (0.04, _offset),
    "constant": (0.03, lambda rng, shape: np.full(shape, rng.normal())),
    "small": (0.04, lambda rng, shape: rng.normal(0.0, 1e-4, shape)),
    "large": (0.03, lambda rng, shape: rng.normal(0.0, 50.0, shape)),
    "nan": (0.0, _with_nan),
    "infinite": (0.0, _with_infinities),
    "huge": (0.0, _around(_HUGE)),
    "tiny": (0.0, _around(_TINY)),
    "empty": (0.0, lambda rng, shape: rng.standard_normal(shape)),
}
#: Those of networks of the third kind, in the order of their turn: NaN most, because nothing else in a network ever is
#: one; ties, zeros of both signs, constants, numbers that are hardly any, and tensors without one.
EDGES = ("nan", "few", "infinite", "nan", "special", "huge", "nan", "tiny", "constant", "empty")
#: Those of which sums and squares need not be finite numbers.
UNBOUNDED = ("nan", "infinite", "huge")


def draw_style(rng: np.random.Generator) -> str:
    names = list(STYLES)
    shares = np.array([STYLES[name][0] for name in names])
    return names[int(rng.choice(len(names), p=shares / shares.sum()))]


def draw_values(
    rng: np.random.Generator, shape: tuple[int, ...], domain: Domain, style: str, dtype: str = "float32"
) -> Array:
    """Values of a style, or what the domain allows."""
    if domain.low is not None and domain.high is not None:
        if domain.dtype.startswith(("int", "uint")):
            if rng.random() < _ENDS:
                return rng.choice((int(domain.low), int(domain.high) - 1), shape).astype(domain.dtype)
            return rng.integers(int(domain.low), int(domain.high), shape).astype(domain.dtype)
        return rng.uniform(domain.low, domain.high, shape).astype(domain.dtype)
    return STYLES[style][1](rng, shape).astype(dtype)


def draw_shape(rng: np.random.Generator, rank: int) -> tuple[int, ...]:
    """A shape of the palette, without the batch axis; ``rank`` counts it."""
    shapes = SHAPES[rank]
    return shapes[int(rng.integers(len(shapes)))]


def draw_edge_shape(rng: np.random.Generator, rank: int, style: str) -> tuple[int, ...]:
    """A shape for values of a style: most of the empty ones have an axis of size 0."""
    shape = draw_shape(rng, rank)
    if style != "empty" or rng.random() < _NOT_EMPTY:
        return shape
    empty = int(rng.integers(len(shape)))
    return (*shape[:empty], 0, *shape[empty + 1 :])


def factorized_shape(rng: np.random.Generator, elements: int, rank: int) -> tuple[int, ...] | None:
    """A shape of just so many elements, without the batch axis; None where one size would be unwieldy."""
    sizes = [1] * (rank - 1)
    for prime in _prime_factors(elements):
        smallest = [index for index, size in enumerate(sizes) if size * prime <= _WIELDY]
        if not smallest:
            return None
        sizes[int(rng.choice(smallest))] *= prime
    return tuple(sizes)


_WIELDY = 32


def _prime_factors(number: int) -> list[int]:
    """In falling order."""
    found: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return sorted([*found, number] if number > 1 else found, reverse=True)
