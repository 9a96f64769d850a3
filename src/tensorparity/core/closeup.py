"""A close-up: what a target gave around its worst number, beside what is right there, small enough to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .arrays import Array
from .channels import distance, is_text
from .jsontext import Json

#: Rows and columns of a picture, and points of a curve, at most.
_SIDE, _POINTS = 16, 64

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Closeup:
    """A window of one array around its worst number; a single row is a curve.

    Args:
        shape: of the whole array.
        axes: those that the rows and the columns run along; of a curve, the only one.
        start: of the window, along these axes.
        index: of the worst number in the whole array.
        given: by the target; ``right`` what is right there, ``apart`` how far they are from each other.
        target: who gave it, ``against`` what it is held against: ``reference`` or ``vote``.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    start: tuple[int, ...]
    index: tuple[int, ...]
    given: Rows
    right: Rows
    apart: Rows
    target: str = ""
    against: str = "reference"

    @property
    def numbers(self) -> int:
        return sum(map(len, self.given))

    @property
    def is_curve(self) -> bool:
        return len(self.axes) == 1

    @property
    def worst(self) -> tuple[int, int]:
        """Row and column of the worst number in the window."""
        place = [self.index[axis] - start for axis, start in zip(self.axes, self.start, strict=True)]
        return (0, place[0]) if self.is_curve else (place[0], place[1])

    def to_json(self) -> Json:
        return {
            "shape": list(self.shape),
            "axes": list(self.axes),
            "start": list(self.start),
            "index": list(self.index),
            "given": _listed(self.given, 5),
            "right": _listed(self.right, 5),
            "apart": _listed(self.apart, 3),
            "target": self.target,
            "against": self.against,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Closeup:
        shape, axes, start, index = (tuple(data[name]) for name in ("shape", "axes", "start", "index"))
        given, right, apart = (_rows(data[name]) for name in ("given", "right", "apart"))
        return cls(shape, axes, start, index, given, right, apart, data["target"], data["against"])


def closeup_of(given: Array, right: Array, index: Sequence[int]) -> Closeup | None:
    """Around the number at ``index``; None for a single number, and for what is no real number."""
    if given.shape != right.shape or given.size < 2 or is_text(given) or "c" in (given.dtype.kind, right.dtype.kind):
        return None
    axes = _axes(given.shape)
    most = _POINTS if len(axes) == 1 else _SIDE
    start = [min(max(0, index[axis] - most // 2), max(0, given.shape[axis] - most)) for axis in axes]
    window: list[int | slice] = list(index)
    for axis, first in zip(axes, start, strict=True):
        window[axis] = slice(first, first + most)
    a, b = (np.atleast_2d(array[tuple(window)]) for array in (given, right))
    where = tuple(given.shape), axes, tuple(start), tuple(int(place) for place in index)
    return Closeup(*where, _numbers(a), _numbers(b), _numbers(distance(a, b)))


def _axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The two longest, or the only one; the first is mostly the batch, and counts where there are no two others."""
    long = [axis for axis, size in enumerate(shape) if size > 1]
    inner = [axis for axis in long if axis] if len(long) > 2 else long
    return tuple(sorted(sorted(inner, key=lambda axis: (-shape[axis], -axis))[:2]))


def _numbers(array: Array) -> Rows:
    return tuple(tuple(map(float, row)) for row in array.astype(np.float64).tolist())


def _listed(rows: Rows, digits: int) -> Json:
    return [[float(f"{value:.{digits}g}") for value in row] for row in rows]


def _rows(listed: Json) -> Rows:
    return tuple(tuple(map(float, row)) for row in listed)
