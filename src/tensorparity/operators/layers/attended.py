"""Attention over chosen axes: those are taken for the steps of one sequence, all others for more of the batch.

A query of shape (batch, a, b, size) that attends over the axis of b is (batch * a, b, size) to the formula of rank 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ..arguments import axes_of, flag, need_rank, optional_positive, refuse
from ..spec import Evaluation, Parameter, Params, Shape, ShapeError

_NAME = "attention_axes"
AXES = Parameter(_NAME, None, (None, 1, 2, -2, (1,), (1, 2)), ("time", 1.5))


@dataclass(frozen=True, slots=True)
class Fold:
    """How inputs of any rank become inputs of rank 3.

    Args:
        attended: the axes of the steps, in the order given.
        others: the axes that are folded into the batch, which is the first of them.
    """

    attended: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of an input in the order in which they are folded."""
        return (*self.others, *self.attended, len(self.others) + len(self.attended))

    def shape(self, shape: Shape) -> Shape:
        return _product(shape, self.others), _product(shape, self.attended), shape[-1]

    def inputs(self, x: Array) -> Array:
        return x.transpose(self.order).reshape(self._sizes(x.shape))

    def _sizes(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(size or 0 for size in self.shape(shape))

    def unfolded(self, query: Shape, tail: Sequence[int]) -> Shape:
        """The sizes of an output before its axes go back to where a query has them."""
        return (*(query[axis] for axis in (*self.others, *self.attended)), *tail)

    def back(self, tail: int) -> tuple[int, ...]:
        """The permutation that takes the axes of an output back; ``tail`` of them are its own."""
        places = np.argsort(self.order[:-1])
        return (*(int(place) for place in places), *range(len(places), len(places) + tail))

    def scores(self, query: Shape, key: Shape, heads: int) -> Shape:
        """One matrix of queries and keys per head, all axes unfolded."""
        over = [shape[axis] for shape in (query, key) for axis in self.attended]
        return (*(query[axis] for axis in self.others), heads, *over)

    def output(self, found: Evaluation, query: tuple[int, ...]) -> Evaluation:
        tail = found.value.shape[2:]
        sizes, back = tuple(size or 0 for size in self.unfolded(query, tail)), self.back(len(tail))
        return Evaluation(*(part.reshape(sizes).transpose(back) for part in (found.value, found.kappa)))


def _product(shape: Shape, axes: Sequence[int]) -> int | None:
    total = 1
    for axis in axes:
        size = shape[axis]
        if size is None:
            return None
        total *= size
    return total


def fold_of(params: Params, shapes: Sequence[Shape]) -> Fold:
    """From the argument and the shapes of query, value and, where there is one, key.

    Raises:
        ShapeError: if the argument does not fit the inputs, or they do not fit each other.
    """
    rank = len(shapes[0])
    if _NAME not in params:
        for shape in shapes:
            need_rank(shape, 3)
        return Fold((1,), (0,))
    if rank < 3:
        raise ShapeError(f"Expected inputs of rank 3 or more, batch axis included. Received: shapes={list(shapes)}")
    value = params[_NAME]
    attended = tuple(range(1, rank - 1)) if value is None else axes_of(value, _NAME, rank)
    if 0 in attended or rank - 1 in attended:
        refuse(_NAME, "axes between the batch and the features", value)
    found = Fold(attended, tuple(axis for axis in range(rank - 1) if axis not in attended))
    _check_fit(found, shapes)
    _check_order(found, params)
    return found


def _check_fit(fold: Fold, shapes: Sequence[Shape]) -> None:
    if len({len(shape) for shape in shapes}) > 1:
        raise ShapeError(f"Expected inputs of one rank. Received: shapes={list(shapes)}")
    for axis in fold.others:
        if len({shape[axis] for shape in shapes} - {None}) > 1:
            raise ShapeError(
                f"Expected inputs of one size along axis {axis}, which is not attended over. "
                f"Received: shapes={list(shapes)}"
            )
    values, keys = shapes[1], shapes[-1]
    if any(values[axis] != keys[axis] for axis in fold.attended):
        raise ShapeError(f"Expected as many keys as values. Received: shapes={list(shapes)}")


def _check_order(fold: Fold, params: Params) -> None:
    """Which steps come before others, or near them, is said of one axis alone."""
    if len(fold.attended) < 2:
        return
    if flag(params, "use_causal_mask"):
        refuse("use_causal_mask", "False where attention is over several axes", True)
    if optional_positive(params, "sliding_window") is not None:
        refuse("sliding_window", "None where attention is over several axes", params["sliding_window"])
