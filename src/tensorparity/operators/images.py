"""Images made ready for a network: Resizing, CenterCrop, and the random layers, which pass them on in inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Array
from ..core.jsontext import Json
from .arguments import channels_first, choice, is_number, need_rank, positive, refuse
from .regularization import SEED, passing
from .reshaping import DATA_FORMAT, moving
from .rounding import exact, growth
from .spatial import DATA_FORMATS, from_last, spatial_axes, to_last
from .spec import Domain, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError

_HEIGHT = Parameter("height", None, (2, 3, 7), (-1,), required=True)
_WIDTH = Parameter("width", None, (2, 4, 5), (-1,), required=True)


def _sized(params: Params, shape: Shape) -> Shape:
    need_rank(shape, 4)
    result = list(shape)
    for axis, name in zip(spatial_axes(params), ("height", "width"), strict=True):
        result[axis] = positive(params, name)
    return tuple(result)


# CenterCrop


def _cropped(params: Params, shape: Shape) -> Shape:
    result = _sized(params, shape)
    for axis, name in zip(spatial_axes(params), ("height", "width"), strict=True):
        size, wanted = shape[axis], positive(params, name)
        if size is not None and size < wanted:
            raise ShapeError(
                f"Argument `{name}`: a smaller input is resized, which is not covered. "
                f"Received: {name}={wanted}, shape={shape}"
            )
    return result


def _crop(params: Params, x: Array) -> Evaluation:
    kept = [slice(None)] * 4
    for axis, name in zip(spatial_axes(params), ("height", "width"), strict=True):
        size = positive(params, name)
        start = (x.shape[axis] - size) // 2
        kept[axis] = slice(start, start + size)
    return exact(x[tuple(kept)])


CENTER_CROP = moving(
    "CenterCrop",
    (4,),
    (_HEIGHT, _WIDTH, DATA_FORMAT),
    _cropped,
    _crop,
    "output = the middle of the image, the odd row or column left out at the end",
)


# Resizing


def _resized(params: Params, shape: Shape) -> Shape:
    choice(params, "interpolation", ("nearest", "bilinear"))
    return _sized(params, shape)


def _resize_axis(x: Evaluation, axis: int, count: int, nearest: bool) -> Evaluation:
    """Output i lies at (i + 1/2) size / count - 1/2 of the input: the centres of cells are aligned."""
    size = x.value.shape[axis]
    if nearest:
        low = np.minimum(((2 * np.arange(count) + 1) * size) // (2 * count), size - 1)
        return Evaluation(x.value.take(low, axis), x.kappa.take(low, axis))
    place = np.maximum((np.arange(count) + 0.5) * size / count - 0.5, 0.0)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, size - 1)
    along = [1] * x.value.ndim
    along[axis] = -1
    share = (place - low).reshape(along)
    first, second = x.value.take(low, axis), x.value.take(high, axis)
    # The place is computed in the dtype: its rounding moves the blend along the difference.
    moved = (place + 1.0).reshape(along) * np.abs(second - first)
    terms = growth(2) * (np.abs(first) * (1 - share) + np.abs(second) * share)
    brought = x.kappa.take(low, axis) * (1 - share) + x.kappa.take(high, axis) * share
    return Evaluation(first * (1 - share) + second * share, brought + moved + terms)


def _resize(params: Params, x: Array) -> Evaluation:
    nearest = params["interpolation"] == "nearest"
    found = exact(to_last(params, x))
    for axis, name in ((1, "height"), (2, "width")):
        found = _resize_axis(found, axis, positive(params, name), nearest)
    return Evaluation(from_last(params, found.value), from_last(params, found.kappa))


RESIZING = moving(
    "Resizing",
    (4,),
    (_HEIGHT, _WIDTH, Parameter("interpolation", "bilinear", ("bilinear", "nearest"), ("cubist",)), DATA_FORMAT),
    _resized,
    _resize,
    "output = the image at another size, each cell the nearest one or a linear blend of its neighbours",
)


# Random layers


def _in_format(params: Params) -> None:
    if "data_format" in params:
        channels_first(params)


def _share(params: Params, name: str) -> None:
    """A number, or a pair of them between which the strength is drawn."""
    value: Json = params[name]
    items = value if isinstance(value, (tuple, list)) else (value, value)
    if len(items) != 2 or not all(is_number(item) for item in items):
        refuse(name, "a number or a pair of them", value)


def augmenting(name: str, *parameters: Parameter, formatted: bool = True) -> LayerSpec:
    """A layer that changes images in training and passes them on in inference."""

    def check(params: Params) -> None:
        _in_format(params)
        for parameter in parameters:
            value = params[parameter.name]
            if parameter.name == "mode":
                choice(params, "mode", ("horizontal", "vertical", "horizontal_and_vertical"))
            elif value is not None or parameter.required:
                _share(params, parameter.name)

    layout = (Parameter("data_format", None, DATA_FORMATS, ("channels_middle",)),) if formatted else ()
    return passing(
        name,
        (4,),
        (*parameters, *layout, SEED),
        check,
        "in inference, output = input; in training the image is changed at random",
        random=True,
        domain=pixels,
    )


def pixels(params: Params) -> Domain:
    return Domain("float32", 0.0, 255.0)


def of_colours(spec: LayerSpec) -> LayerSpec:
    """The layer, for images of red, green and blue only."""

    def shape(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        found = spec.shape(params, shapes)
        if shapes[0][1 if channels_first(params) else -1] != 3:
            raise ShapeError(f"Expected images of 3 channels. Received: shape={shapes[0]}")
        return found

    return replace(spec, shape=shape)


_FACTOR = Parameter("factor", None, (0.2, 0.5), ("much",), required=True)
_SHIFT = Parameter("height_factor", None, (0.2, (-0.3, 0.1)), ("much",), required=True)

RANDOM_BRIGHTNESS = augmenting("RandomBrightness", _FACTOR, formatted=False)
RANDOM_COLOR_DEGENERATION = of_colours(augmenting("RandomColorDegeneration", _FACTOR))
RANDOM_CONTRAST = augmenting("RandomContrast", _FACTOR, formatted=False)
RANDOM_FLIP = augmenting(
    "RandomFlip",
    Parameter(
        "mode",
        "horizontal_and_vertical",
        ("horizontal_and_vertical", "horizontal", "vertical"),
        ("diagonal",),
    ),
)
RANDOM_HUE = augmenting("RandomHue", _FACTOR)
RANDOM_ROTATION = augmenting("RandomRotation", _FACTOR)
RANDOM_SATURATION = augmenting("RandomSaturation", _FACTOR)
RANDOM_SHARPNESS = augmenting("RandomSharpness", _FACTOR)
RANDOM_SHEAR = augmenting(
    "RandomShear", Parameter("x_factor", 0.0, (0.0, 0.2), ("much",)), Parameter("y_factor", 0.0, (0.0, 0.2), ("much",))
)
RANDOM_TRANSLATION = augmenting(
    "RandomTranslation", _SHIFT, Parameter("width_factor", None, (0.2, (-0.3, 0.1)), ("much",), required=True)
)
RANDOM_ZOOM = augmenting("RandomZoom", _SHIFT, Parameter("width_factor", None, (None, 0.2), ("much",)))
