"""Windows over height and width: what convolution and pooling have in common.

References work channels last; ``to_last`` and ``from_last`` bracket them. Both paddings are those the
documentation names: ``valid`` is none, ``same`` gives ``ceil(size / stride)`` positions with zeros
spread evenly, the odd one at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from .arguments import Pair, channels_first, choice, need_rank, pair
from .spec import Params, Shape, ShapeError

PADDINGS = ("valid", "same")
DATA_FORMATS = (None, "channels_last", "channels_first")


@dataclass(frozen=True, slots=True)
class Window:
    """A window that slides over two axes."""

    size: Pair
    strides: Pair
    padding: str
    dilation: Pair = (1, 1)

    def reach(self, axis: int) -> int:
        """How many input positions one window spans."""
        return (self.size[axis] - 1) * self.dilation[axis] + 1

    def positions(self, axis: int, size: int) -> int:
        if self.padding == "same":
            return -(-size // self.strides[axis])
        return (size - self.reach(axis)) // self.strides[axis] + 1

    def margins(self, axis: int, size: int) -> Pair:
        """Padding before and after."""
        if self.padding == "valid":
            return 0, 0
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
        height, width = self.margins(0, x.shape[1]), self.margins(1, x.shape[2])
        if not any(height + width):
            return x
        return np.pad(x, ((0, 0), height, width, (0, 0)), constant_values=fill)

    def taps(self, x: Array, fill: float = 0.0) -> Iterator[tuple[int, int, Array]]:
        """For each place in the window, the input seen from there at every output position."""
        rows, columns = self.positions(0, x.shape[1]), self.positions(1, x.shape[2])
        padded = self.padded(x, fill)
        for i in range(self.size[0]):
            top = i * self.dilation[0]
            for j in range(self.size[1]):
                left = j * self.dilation[1]
                bottom = top + (rows - 1) * self.strides[0] + 1
                right = left + (columns - 1) * self.strides[1] + 1
                yield i, j, padded[:, top : bottom : self.strides[0], left : right : self.strides[1], :]

    def patches(self, x: Array) -> Array:
        """A view of shape (batch, rows, columns, kernel height, kernel width, channels)."""
        padded = self.padded(x)
        view = np.lib.stride_tricks.sliding_window_view(padded, (self.reach(0), self.reach(1)), axis=(1, 2))
        view = view[:, :: self.strides[0], :: self.strides[1], :, :: self.dilation[0], :: self.dilation[1]]
        return view.transpose(0, 1, 2, 4, 5, 3)


def read_window(params: Params, size: str, *, dilated: bool) -> Window:
    """The window the parameters describe; strides of None mean the window's own size."""
    extent = pair(params, size)
    strides = extent if params["strides"] is None else pair(params, "strides")
    dilation = pair(params, "dilation_rate") if dilated else (1, 1)
    return Window(extent, strides, choice(params, "padding", PADDINGS), dilation)


def spatial_axes(params: Params) -> Pair:
    return (2, 3) if channels_first(params) else (1, 2)


def channel_axis(params: Params) -> int:
    return 1 if channels_first(params) else 3


def windowed_shape(params: Params, window: Window, shape: Shape, channels: int | None) -> Shape:
    need_rank(shape, 4)
    result = list(shape)
    for index, axis in enumerate(spatial_axes(params)):
        result[axis] = window.output_size(index, shape[axis])
    result[channel_axis(params)] = channels
    return tuple(result)


def to_last(params: Params, x: Array) -> Array:
    return x.transpose(0, 2, 3, 1) if channels_first(params) else x


def from_last(params: Params, x: Array) -> Array:
    return x.transpose(0, 3, 1, 2) if channels_first(params) else x
