"""Random layers of images, which pass them on in inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...core.jsontext import Json
from ..arguments import channels_first, choice, is_number, refuse
from ..spec import Domain, LayerSpec, Parameter, Params, Shape, ShapeError
from .regularization import SEED, passing_layer
from .spatial import DATA_FORMATS


def _in_format(params: Params) -> None:
    if "data_format" in params:
        channels_first(params)


def _share(params: Params, name: str) -> None:
    """A number, or a pair of them between which the strength is drawn."""
    value: Json = params[name]
    items = value if isinstance(value, (tuple, list)) else (value, value)
    if len(items) != 2 or not all(is_number(item) for item in items):
        refuse(name, "a number or a pair of them", value)


def augmenting_layer(name: str, *parameters: Parameter, formatted: bool = True) -> LayerSpec:
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
    return passing_layer(
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

RANDOM_BRIGHTNESS = augmenting_layer("RandomBrightness", _FACTOR, formatted=False)
RANDOM_COLOR_DEGENERATION = of_colours(augmenting_layer("RandomColorDegeneration", _FACTOR))
RANDOM_CONTRAST = augmenting_layer("RandomContrast", _FACTOR, formatted=False)
RANDOM_FLIP = augmenting_layer(
    "RandomFlip",
    Parameter(
        "mode",
        "horizontal_and_vertical",
        ("horizontal_and_vertical", "horizontal", "vertical"),
        ("diagonal",),
    ),
)
RANDOM_HUE = augmenting_layer("RandomHue", _FACTOR)
RANDOM_ROTATION = augmenting_layer("RandomRotation", _FACTOR)
RANDOM_SATURATION = augmenting_layer("RandomSaturation", _FACTOR)
RANDOM_SHARPNESS = augmenting_layer("RandomSharpness", _FACTOR)
RANDOM_SHEAR = augmenting_layer(
    "RandomShear", Parameter("x_factor", 0.0, (0.0, 0.2), ("much",)), Parameter("y_factor", 0.0, (0.0, 0.2), ("much",))
)
RANDOM_TRANSLATION = augmenting_layer(
    "RandomTranslation", _SHIFT, Parameter("width_factor", None, (0.2, (-0.3, 0.1)), ("much",), required=True)
)
RANDOM_ZOOM = augmenting_layer("RandomZoom", _SHIFT, Parameter("width_factor", None, (None, 0.2), ("much",)))
