"""Layers that change images while a network is trained, and AutoContrast, which always does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import channels_first, is_number, need_rank, positive, refuse
from ..spec import Domain, Evaluation, LayerSpec, Parameter, Params, Shape, no_weights
from .images import augmenting_layer, of_colours, pixels
from .regularization import passing_layer
from .reshaping import DATA_FORMAT


def _factor(default: float, *others: float) -> Parameter:
    return Parameter("factor", default, (default, *others), ("much",))


AUG_MIX = of_colours(augmenting_layer("AugMix", _factor(0.3, 0.5)))
CUT_MIX = of_colours(augmenting_layer("CutMix", _factor(1.0, 0.5)))
MIX_UP = of_colours(augmenting_layer("MixUp", Parameter("alpha", 0.2, (0.2, 1.0))))
RAND_AUGMENT = of_colours(augmenting_layer("RandAugment", _factor(0.5, 0.2)))
RANDOM_COLOR_JITTER = of_colours(
    augmenting_layer(
        "RandomColorJitter",
        *(Parameter(f"{what}_factor", None, (None, 0.2)) for what in ("brightness", "contrast", "saturation", "hue")),
    )
)
RANDOM_ELASTIC_TRANSFORM = augmenting_layer("RandomElasticTransform", _factor(1.0, 0.5))
RANDOM_ERASING = augmenting_layer("RandomErasing", _factor(1.0, 0.5))
RANDOM_GAUSSIAN_BLUR = augmenting_layer("RandomGaussianBlur", _factor(1.0, 0.5))
RANDOM_GRAYSCALE = of_colours(augmenting_layer("RandomGrayscale", Parameter("factor", 0.5, (0.5, 1.0), ("much",))))
RANDOM_INVERT = augmenting_layer("RandomInvert", _factor(1.0, 0.5))
RANDOM_PERSPECTIVE = augmenting_layer("RandomPerspective", _factor(1.0, 0.5))
RANDOM_POSTERIZATION = augmenting_layer("RandomPosterization", Parameter("factor", None, (4, 8), required=True))
SOLARIZATION = augmenting_layer(
    "Solarization",
    Parameter("addition_factor", 0.0, (0.0, 0.3), ("much",)),
    Parameter("threshold_factor", 0.0, (0.0, 0.5), ("much",)),
    formatted=False,
)


def _bins(params: Params) -> None:
    positive(params, "bins")
    channels_first(params)


#: Draws nothing, but does something in training only; the reference is of inference.
EQUALIZATION = passing_layer(
    "Equalization",
    (4,),
    (Parameter("bins", 256, (256, 64)), DATA_FORMAT),
    _bins,
    "in inference, output = input; in training the histogram of each channel is made flat",
    random=True,
    domain=pixels,
)


def _range(params: Params) -> tuple[float, float]:
    value = params["value_range"]
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(is_number(item) for item in value):
        refuse("value_range", "a pair of numbers", value)
    return float(value[0]), float(value[1])


def _same(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 4)
    _range(params)
    return (shapes[0],)


def _stretch(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x, (least, greatest) = inputs[0], _range(params)
    low, high = x.min(axis=(1, 2), keepdims=True), x.max(axis=(1, 2), keepdims=True)
    flat = high == low
    span = greatest - least
    scale = span / np.where(flat, 1.0, high - low)
    value = np.where(flat, x, least + np.clip((x - low) * scale, 0.0, span))
    # Stretched and shifted apart, so that a narrow range leaves the rounding of two large numbers; and first of all
    # brought to 0 to 255, and back in the end.
    sizes = np.abs(x) + np.abs(low) + abs(least)
    kappa = np.where(flat, 0.0, (1.0 if (least, greatest) == (0.0, 255.0) else 4.0) * sizes * scale + span + abs(least))
    return (Evaluation(value, kappa),)


AUTO_CONTRAST = LayerSpec(
    name="AutoContrast",
    api="keras.layers.AutoContrast",
    arity=(1, 1),
    ranks=(4,),
    parameters=(Parameter("value_range", (0, 255), ((0, 255), (0, 1), (-1, 1))),),
    shape=_same,
    weights=no_weights,
    reference=_stretch,
    formula="output = each channel stretched so that its least value and its greatest are those of value_range; flat "
    "ones stay",
    domain=lambda params: Domain("float32", *_range(params)),
    hazards=("channels are always the last axis",),
)
