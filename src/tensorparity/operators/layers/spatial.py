"""Windows over one, two or three spatial axes: what convolution and pooling have in common.

References work channels last; ``to_last`` and ``from_last`` bracket them. Paddings are those the
documentation names: ``valid`` is none, ``same`` gives ``ceil(size / stride)`` positions with zeros
spread evenly, the odd one at the end; ``causal`` puts all of them in front.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ..arguments import Pair, channels_first, choice, need_rank, sizes
from ..spec import Params, Shape, ShapeError

PADDINGS = ("valid", "same")
DATA_FORMATS = (None, "channels_last", "channels_first")

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A window that slides over the spatial axes; without ``dilation`` its places are adjacent."""

    size: Sizes
    strides: Sizes
    padding: str
    dilation: Sizes = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dilation", self.dilation or (1,) * len(self.size))

    @property
    def dims(self) -> int:
        return len(self.size)

    @property
    def places(self) -> int:
        """How many inputs one window holds."""
        return int(np.prod(self.size))

    def reach(self, axis: int) -> int:
        """How many input positions one window spans."""
        return (self.size[axis] - 1) * self.dilation[axis] + 1

    def positions(self, axis: int, size: int) -> int:
        if self.padding == "valid":
            return (size - self.reach(axis)) // self.strides[axis] + 1
        return -(-size // self.strides[axis])

    def grid(self, x: Array) -> Sizes:
        """The number of positions along each spatial axis of ``x`` (channels last)."""
        return tuple(self.positions(axis, x.shape[axis + 1]) for axis in range(self.dims))

    def margins(self, axis: int, size: int) -> Pair:
        """Padding before and after."""
        if self.padding == "valid":
            return 0, 0
        if self.padding == "causal":
            return self.reach(axis) - 1, 0
        total = max((self.positions(axis, size) - 1) * self.strides[axis] + self.reach(axis) - size, 0)
        return total // 2, total - total // 2

    def output_size(self, axis: int, size: int | None) -> int | None:
        if size is None:
            return None
        count = self.positions(axis, size)
        if count <= 0 or size <= 0:
            raise ShapeError(
                f"The window does not fit: expected a spatial size of at least {self.reach(axis)}. "
                f"Received: size={size}, window={self}"
            )
        return count

    def padded(self, x: Array, fill: float = 0.0) -> Array:
        """``x`` (channels last) with its margins."""
        margins = [self.margins(axis, x.shape[axis + 1]) for axis in range(self.dims)]
        if not any(map(any, margins)):
            return x
        return np.pad(x, ((0, 0), *margins, (0, 0)), constant_values=fill)

    def taps(self, x: Array, fill: float = 0.0) -> Iterator[tuple[Sizes, Array]]:
        """For each place in the window, the input seen from there at every output position."""
        grid, padded = self.grid(x), self.padded(x, fill)
        for place in itertools.product(*map(range, self.size)):
            steps = []
            for index, count, stride, dilation in zip(place, grid, self.strides, self.dilation, strict=True):
                start = index * dilation
                steps.append(slice(start, start + (count - 1) * stride + 1, stride))
            yield place, padded[(slice(None), *steps)]

    def patches(self, x: Array) -> Array:
        """A view of shape (batch, *positions, *kernel sizes, channels)."""
        axes = tuple(range(1, self.dims + 1))
        reach = tuple(self.reach(axis) for axis in range(self.dims))
        view = np.lib.stride_tricks.sliding_window_view(self.padded(x), reach, axis=axes)
        every = [slice(None, None, step) for step in self.strides]
        apart = [slice(None, None, step) for step in self.dilation]
        view = view[(slice(None), *every, slice(None), *apart)]
        return np.moveaxis(view, self.dims + 1, -1)


def read_window(
    params: Params, size: str, *, dilated: bool, dims: int = 2, paddings: Sequence[str] = PADDINGS
) -> Window:
    """The window the parameters describe; strides of None mean the window's own size."""
    extent = sizes(params, size, dims)
    strides = extent if params["strides"] is None else sizes(params, "strides", dims)
    dilation = sizes(params, "dilation_rate", dims) if dilated else (1,) * dims
    return Window(extent, strides, choice(params, "padding", paddings), dilation)


def spatial_axes(params: Params, dims: int = 2) -> Sizes:
    first = 2 if channels_first(params) else 1
    return tuple(range(first, first + dims))


def channel_axis(params: Params, dims: int = 2) -> int:
    return 1 if channels_first(params) else dims + 1


def windowed_shape(params: Params, window: Window, shape: Shape, channels: int | None) -> Shape:
    need_rank(shape, window.dims + 2)
    result = list(shape)
    for index, axis in enumerate(spatial_axes(params, window.dims)):
        result[axis] = window.output_size(index, shape[axis])
    result[channel_axis(params, window.dims)] = channels
    return tuple(result)


def to_last(params: Params, x: Array) -> Array:
    return np.moveaxis(x, 1, -1) if channels_first(params) else x


def from_last(params: Params, x: Array) -> Array:
    return np.moveaxis(x, -1, 1) if channels_first(params) else x
