"""Conv1D, Conv2D and Conv3D, and what all convolutions share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from ...core.arrays import Array
from ...core.jsontext import Json
from ..arguments import flag, known_size, need_rank, positive
from ..functions import named_activations
from ..reference.rounding import growth
from ..shared_code import CONVOLUTION
from ..spec import Conflict, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, WeightSpec
from .dense import ACTIVATION, USE_BIAS, biased
from .governed import governed
from .spatial import (
    DATA_FORMATS,
    PADDINGS,
    Window,
    channel_axis,
    from_last,
    read_window,
    to_last,
    windowed_shape,
)

#: Bytes of unfolded input that are held at once, whatever the size of the layer.
CHUNK_BYTES = 64 * 2**20

#: Per number of spatial axes: kernel sizes, strides, dilations worth trying, and a tuple of the wrong length.
_KERNELS: dict[int, tuple[Json, ...]] = {
    1: (1, 2, 3, 5),
    2: (1, 2, 3, 5, (1, 3), (3, 2)),
    3: (1, 2, 3, (1, 3, 2)),
}
_STEPS: dict[int, tuple[Json, ...]] = {1: (1, 2, 3), 2: ((1, 1), 2, 3, (1, 2)), 3: ((1, 1, 1), 2, (1, 2, 3))}
_GAPS: dict[int, tuple[Json, ...]] = {1: (1, 2, 3), 2: ((1, 1), 2, (1, 2)), 3: ((1, 1, 1), 2)}

FILTERS = Parameter("filters", None, (1, 2, 4, 6), (0, -1), required=True)
#: Of every convolution, however many its axes are.
STRIDED_OR_DILATED = Conflict({"strides": 2, "dilation_rate": 2}, "at most one of strides and dilation_rate exceeds 1")
DATA_FORMAT = Parameter("data_format", None, DATA_FORMATS, ("channels_middle",))


def kernel_size(dims: int) -> Parameter:
    return Parameter("kernel_size", None, _KERNELS[dims], (0, -1, (2,) * (dims + 1), "3"), required=True)


def strides(dims: int) -> Parameter:
    return Parameter("strides", _STEPS[dims][0], _STEPS[dims], (0, -1, (1,) * (dims + 1)))


def dilation_rate(dims: int) -> Parameter:
    return Parameter("dilation_rate", _GAPS[dims][0], _GAPS[dims], (0, -1))


def padding_parameter(*more: str) -> Parameter:
    return Parameter("padding", "valid", (*PADDINGS, *more), ("full", 1, *(() if more else ("causal",))))


def _paddings(dims: int) -> tuple[str, ...]:
    """Looking only backwards makes sense in time, which is one axis."""
    return (*PADDINGS, "causal") if dims == 1 else PADDINGS


def window_of(params: Params, dims: int, paddings: Sequence[str] = PADDINGS) -> Window:
    window = read_window(params, "kernel_size", dilated=True, dims=dims, paddings=paddings)
    if max(window.strides) > 1 and max(window.dilation) > 1:
        raise ShapeError(
            "Arguments `strides` and `dilation_rate`: expected at most one of them above 1. "
            f"Received: strides={window.strides}, dilation_rate={window.dilation}"
        )
    return window


def channels_of(params: Params, shape: Shape, dims: int) -> int:
    need_rank(shape, dims + 2)
    return known_size(shape, channel_axis(params, dims), "the channels")


def output_of(params: Params, window: Window, shape: Shape, channels: int) -> tuple[Shape, ...]:
    flag(params, "use_bias")
    named_activations.check_name(params["activation"])
    return (windowed_shape(params, window, shape, channels),)


def with_bias(params: Params, found: dict[str, WeightSpec], size: int, fan_in: int) -> dict[str, WeightSpec]:
    if flag(params, "use_bias"):
        found["bias"] = WeightSpec((size,), "bias", fan_in=fan_in)
    return found


def finish(params: Params, total: Evaluation, weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    """Back to the data format of the input, then bias and activation: softmax sees that format's last axis."""
    turned = Evaluation(from_last(params, total.value), from_last(params, total.kappa))
    return (biased(turned, params, weights, axis=channel_axis(params, total.value.ndim - 2)),)


# Conv


def _groups(params: Params, channels: int) -> int:
    groups, filters = positive(params, "groups"), positive(params, "filters")
    if channels % groups or filters % groups:
        raise ShapeError(
            "Argument `groups`: expected a divisor of the input channels and of `filters`. "
            f"Received: groups={groups}, channels={channels}, filters={filters}"
        )
    return groups


def _conv_shape(dims: int, params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    _groups(params, channels_of(params, shapes[0], dims))
    return output_of(params, window_of(params, dims, _paddings(dims)), shapes[0], positive(params, "filters"))


def _conv_weights(dims: int, params: Params, shapes: Sequence[Shape]) -> dict[str, WeightSpec]:
    channels, filters = channels_of(params, shapes[0], dims), positive(params, "filters")
    window = window_of(params, dims, _paddings(dims))
    depth = channels // positive(params, "groups")
    fan_in = window.places * depth
    kernel = WeightSpec((*window.size, depth, filters), "kernel", fan_in=fan_in)
    return with_bias(params, {"kernel": kernel}, filters, fan_in)


def _chunks(batch: int, rows: int, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of whole images, or of rows of one image where an image is too large."""
    height = max(1, CHUNK_BYTES // max(1, row_bytes))
    if height >= rows:
        step = max(1, height // max(1, rows))
        for start in range(0, batch, step):
            yield slice(start, start + step), slice(None)
        return
    for image in range(batch):
        for start in range(0, rows, height):
            yield slice(image, image + 1), slice(start, start + height)


def contract(x: Array, kernel: Array, window: Window) -> Evaluation:
    """Sum over window and channels, channels last, by unfolding a bounded part of the input at a time."""
    terms, filters = int(np.prod(kernel.shape[:-1])), kernel.shape[-1]
    patches, flat = window.patches(x), kernel.reshape(-1, filters)
    magnitude = np.abs(flat)
    grid = patches.shape[: window.dims + 1]
    value, kappa = np.empty((*grid, filters)), np.empty((*grid, filters))
    row_bytes = int(np.prod(grid[2:])) * terms * x.itemsize
    for images, rows in _chunks(grid[0], grid[1], row_bytes):
        part = patches[images, rows]
        columns = part.reshape(-1, terms)  # copies: this is the unfolding
        target = (*part.shape[: window.dims + 1], filters)
        value[images, rows] = (columns @ flat).reshape(target)
        kappa[images, rows] = (np.abs(columns) @ magnitude).reshape(target)
    kappa *= growth(terms)
    return Evaluation(value, kappa)


def _grouped(x: Array, kernel: Array, window: Window, groups: int) -> Evaluation:
    if groups == 1:
        return contract(x, kernel, window)
    parts = [
        contract(inputs, filters, window)
        for inputs, filters in zip(np.split(x, groups, axis=-1), np.split(kernel, groups, axis=-1), strict=True)
    ]
    return Evaluation(
        np.concatenate([part.value for part in parts], axis=-1), np.concatenate([part.kappa for part in parts], axis=-1)
    )


def _conv_reference(
    dims: int, params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]
) -> tuple[Evaluation, ...]:
    window = window_of(params, dims, _paddings(dims))
    total = _grouped(to_last(params, inputs[0]), weights["kernel"], window, positive(params, "groups"))
    return finish(params, total, weights)


def _conv(dims: int) -> LayerSpec:
    return LayerSpec(
        name=f"Conv{dims}D",
        api=f"keras.layers.Conv{dims}D",
        arity=(1, 1),
        ranks=(dims + 2,),
        shared=(CONVOLUTION,),
        parameters=(
            FILTERS,
            kernel_size(dims),
            strides(dims),
            padding_parameter(*_paddings(dims)[2:]),
            DATA_FORMAT,
            dilation_rate(dims),
            Parameter("groups", 1, (1, 2), (0, -1)),
            ACTIVATION,
            USE_BIAS,
        ),
        shape=partial(_conv_shape, dims),
        weights=partial(_conv_weights, dims),
        reference=partial(_conv_reference, dims),
        formula=(
            "output = activation(the cross-correlation of the padded input with the kernel, at every stride, summed "
            "over the channels of the filter's group, + bias)"
        ),
        conflicts=(
            STRIDED_OR_DILATED,
            Conflict({"filters": 1, "groups": 2}, "filters is a multiple of groups"),
        ),
        hazards=("the input channels are a multiple of groups",),
    )


CONV1D, CONV2D, CONV3D = (governed(_conv(dims), activity=True, kernel="kernel", bias="bias") for dims in (1, 2, 3))
