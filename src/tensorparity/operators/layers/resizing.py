"""Images at another size, as a whole or after a change of their aspect ratio: Resizing and CenterCrop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from ...core.arrays import Array
from ..arguments import choice, flag, need_rank, number, positive, refuse
from ..reference.rounding import exact, growth, weighed
from ..spec import Domain, Evaluation, Parameter, Params, Shape
from .regularization import SEED
from .reshaping import DATA_FORMAT, moving_layer
from .spatial import from_last, spatial_axes, to_last

_HEIGHT = Parameter("height", None, (2, 3, 7), (-1,), required=True)
_WIDTH = Parameter("width", None, (2, 4, 5), (-1,), required=True)
#: A step by which places are moved to see what their rounding does to weights.
_NUDGE = 2.0**-20


def _sized_shape(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 4)
    result = list(shape)
    for axis, name in zip(spatial_axes(params), ("height", "width"), strict=True):
        result[axis] = positive(params, name)
    return tuple(result)


# One axis


def _triangle(x: Array) -> Array:
    return np.maximum(1.0 - np.abs(x), 0.0)


def _keys(x: Array) -> Array:
    """Keys' cubic, whose one free number is -1/2: the choice that reproduces parabolas."""
    x = np.abs(x)
    near, far = (1.5 * x - 2.5) * x**2 + 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x <= 1.0, near, np.where(x < 2.0, far, 0.0))


def _lanczos(x: Array, radius: int) -> Array:
    return np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0.0)


_KERNELS: dict[str, Callable[[Array], Array]] = {
    "bilinear": _triangle,
    "bicubic": _keys,
    "lanczos3": lambda x: _lanczos(x, 3),
    "lanczos5": lambda x: _lanczos(x, 5),
}
_SUPPORT = {"bilinear": 1, "bicubic": 2, "lanczos3": 3, "lanczos5": 5}
INTERPOLATIONS = ("nearest", *_KERNELS)


def _shares(how: str, place: Array, size: int, width: float) -> Array:
    """How much each cell of the input has of each output, a row each; a row sums to 1, so edges lose nothing."""
    found = _KERNELS[how]((np.arange(size) - place[:, None]) / width)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _blend(x: Evaluation, axis: int, count: int, how: str, antialias: bool) -> Evaluation:
    """Sums of what the kernel reaches; where cells become fewer, antialiasing makes it as much wider."""
    size = x.value.shape[axis]
    width = max(size / count, 1.0) if antialias else 1.0
    place = (np.arange(count) + 0.5) * size / count - 0.5
    shares = _shares(how, place, size, width)
    # The place is computed in the dtype: its rounding moves the shares of all cells.
    moved = np.abs(_shares(how, place + _NUDGE, size, width) - shares) / _NUDGE * (np.abs(place) + 1.0)[:, None]
    taps = min(size, 2 * int(np.ceil(_SUPPORT[how] * width)) + 1)
    rounding = moved + (growth(taps) + growth(taps) + 8.0) * np.abs(shares)

    brought = weighed(np.abs(shares) + _NUDGE * moved, x.kappa, axis)
    return Evaluation(weighed(shares, x.value, axis), brought + weighed(rounding, np.abs(x.value), axis))


def resize_axis(x: Evaluation, axis: int, count: int, how: str, antialias: bool) -> Evaluation:
    """Output i lies at (i + 1/2) size / count - 1/2 of the input: the centres of cells are aligned."""
    size = x.value.shape[axis]
    if how == "nearest":
        low = np.minimum(((2 * np.arange(count) + 1) * size) // (2 * count), size - 1)
        return Evaluation(x.value.take(low, axis), x.kappa.take(low, axis))
    if how != "bilinear" or (antialias and size > count):
        return _blend(x, axis, count, how, antialias)
    return blend_linearly(x, axis, count)


def blend_linearly(x: Evaluation, axis: int, count: int) -> Evaluation:
    """Output i lies at (i + 1/2) size / count - 1/2 of the input along one axis, clamped to it."""
    size = x.value.shape[axis]
    place = np.maximum((np.arange(count) + 0.5) * size / count - 0.5, 0.0)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, size - 1)
    before = np.maximum(low - 1, 0)
    along = [1] * x.value.ndim
    along[axis] = -1
    share = (place - low).reshape(along)
    first, second = x.value.take(low, axis), x.value.take(high, axis)
    # The place is computed in the dtype: its rounding moves the blend along the difference, and from a cell itself to
    # either side. What an axis before it has left of rounding there is moved as well, where it is all there is.
    aside = np.where(share < _NUDGE, np.abs(first - x.value.take(before, axis)), 0.0)
    moved = (place + 1.0).reshape(along) * np.maximum(np.abs(second - first), aside)
    beside = _NUDGE * (x.kappa.take(before, axis) + x.kappa.take(high, axis))
    terms = growth(2) * (np.abs(first) * (1 - share) + np.abs(second) * share)
    brought = x.kappa.take(low, axis) * (1 - share) + x.kappa.take(high, axis) * share
    # A share of 0 is no share: what is not a number there does not come in.
    blended = np.where(share == 0, first, first * (1 - share) + np.where(share == 0, 0.0, second) * share)
    return Evaluation(blended, brought + beside + moved + terms)


# Aspect ratio


def fitting_sizes(height: int, width: int, target: tuple[int, int], how: Literal["crop", "pad"]) -> tuple[int, int]:
    """The largest window of the image with the target's aspect ratio, or the smallest frame around it."""
    tall, wide = width * target[0] // target[1], height * target[1] // target[0]
    if how == "crop":
        return max(min(height, tall), 1), max(min(width, wide), 1)
    return max(height, tall), max(width, wide)


def _crop_to_ratio(x: Array, target: tuple[int, int]) -> Array:
    height, width = fitting_sizes(x.shape[1], x.shape[2], target, "crop")
    top, left = (x.shape[1] - height) // 2, (x.shape[2] - width) // 2
    return x[:, top : top + height, left : left + width]


def _pad_to_ratio(x: Array, target: tuple[int, int], value: float) -> Array:
    """As much on one side as on the other: of an odd margin, the last row or column is left away."""
    height, width = fitting_sizes(x.shape[1], x.shape[2], target, "pad")
    rows, columns = (height - x.shape[1]) // 2, (width - x.shape[2]) // 2
    return np.pad(x, ((0, 0), (rows, rows), (columns, columns), (0, 0)), constant_values=value)


def resized_from(params: Params, height: int, width: int) -> tuple[int, int]:
    """Rows and columns that Resizing interpolates between, for an image of so many."""
    if params.get("crop_to_aspect_ratio"):
        return fitting_sizes(height, width, _target(params), "crop")
    if params.get("pad_to_aspect_ratio"):
        rows, columns = fitting_sizes(height, width, _target(params), "pad")
        return height + (rows - height) // 2 * 2, width + (columns - width) // 2 * 2
    return height, width


def _scaled(params: Params, x: Array, how: str, antialias: bool = False) -> Evaluation:
    """An image whose channels come last, at the size wanted."""
    found = exact(x)
    for axis, name in ((1, "height"), (2, "width")):
        found = resize_axis(found, axis, positive(params, name), how, antialias)
    return Evaluation(from_last(params, found.value), from_last(params, found.kappa))


def _target(params: Params) -> tuple[int, int]:
    return positive(params, "height"), positive(params, "width")


# CenterCrop


def is_smaller(params: Params, shape: Shape) -> bool:
    """Whether the image has too few rows or columns to be cropped."""
    axes = zip(spatial_axes(params), _target(params), strict=True)
    return any((shape[axis] or 0) < size for axis, size in axes)


def _center_crop(params: Params, x: Array) -> Evaluation:
    if is_smaller(params, x.shape):
        return _scaled(params, _crop_to_ratio(to_last(params, x), _target(params)), "bilinear")
    kept = [slice(None)] * 4
    for axis, size in zip(spatial_axes(params), _target(params), strict=True):
        start = (x.shape[axis] - size) // 2
        kept[axis] = slice(start, start + size)
    return exact(x[tuple(kept)])


CENTER_CROP = moving_layer(
    "CenterCrop",
    (4,),
    (_HEIGHT, _WIDTH, DATA_FORMAT),
    _sized_shape,
    _center_crop,
    "output = the middle of the image, the odd row or column left out at the end; of an image that is smaller, the "
    "largest window of the wanted aspect ratio, blended linearly to the wanted size",
)


# RandomCrop


def _largest_window(params: Params, x: Array) -> Evaluation:
    return _scaled(params, _crop_to_ratio(to_last(params, x), _target(params)), "bilinear")


#: Keras does nothing in inference (trophies); and how an image is resized is nowhere said.
RANDOM_CROP = replace(
    moving_layer(
        "RandomCrop",
        (4,),
        (_HEIGHT, _WIDTH, DATA_FORMAT, SEED),
        _sized_shape,
        _largest_window,
        "in inference, output = the largest window of the wanted aspect ratio, resized to the wanted size; in training "
        "a window of that size is cut out at a random place",
    ),
    random=True,
    voted=True,
    stages=("inference", "backward"),
    domain=lambda params: Domain("float32", 0.0, 255.0),
)


# Resizing


def _resized_shape(params: Params, shape: Shape) -> Shape:
    choice(params, "interpolation", INTERPOLATIONS)
    choice(params, "fill_mode", ("constant",))
    number(params, "fill_value")
    flag(params, "antialias")
    if flag(params, "crop_to_aspect_ratio") and flag(params, "pad_to_aspect_ratio"):
        refuse("pad_to_aspect_ratio", "False where crop_to_aspect_ratio is True", True)
    return _sized_shape(params, shape)


def _resize(params: Params, x: Array) -> Evaluation:
    image = to_last(params, x)
    if params["crop_to_aspect_ratio"]:
        image = _crop_to_ratio(image, _target(params))
    elif params["pad_to_aspect_ratio"]:
        image = _pad_to_ratio(image, _target(params), float(params["fill_value"]))
    return _scaled(params, image, params["interpolation"], params["antialias"])


RESIZING = moving_layer(
    "Resizing",
    (4,),
    (
        _HEIGHT,
        _WIDTH,
        Parameter("interpolation", "bilinear", ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"), ("cubist",)),
        Parameter("crop_to_aspect_ratio", False, (False, True)),
        Parameter("pad_to_aspect_ratio", False, (False, True)),
        Parameter("fill_mode", "constant", ("constant",), ("reflect",)),
        Parameter("fill_value", 0.0, (0.0, 1.5, -2.0)),
        Parameter("antialias", False, (False, True)),
        DATA_FORMAT,
    ),
    _resized_shape,
    _resize,
    "output = the image at another size, each cell the nearest one or a blend of its neighbours by a kernel (a "
    "triangle, Keys' cubic, Lanczos' window of radius 3 or 5; wider by as much as cells become fewer, with antialias) "
    "whose shares sum to 1; before that, the largest window of the wanted aspect ratio, or the smallest frame of it "
    "around the image",
)
