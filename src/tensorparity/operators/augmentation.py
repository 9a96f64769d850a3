"""Layers that change images while a network is trained, and AutoContrast, which always does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..core.arrays import Array
from .arguments import channels_first, need_rank, positive
from .images import augmenting, of_colours, pixels
from .regularization import passing
from .reshaping import DATA_FORMAT
from .spec import Evaluation, LayerSpec, Parameter, Params, Shape, no_weights


def _factor(default: float, *others: float) -> Parameter:
    return Parameter("factor", default, (default, *others), ("much",))


AUG_MIX = of_colours(augmenting("AugMix", _factor(0.3, 0.5)))
CUT_MIX = of_colours(augmenting("CutMix", _factor(1.0, 0.5)))
MIX_UP = of_colours(augmenting("MixUp", Parameter("alpha", 0.2, (0.2, 1.0))))
RAND_AUGMENT = of_colours(augmenting("RandAugment", _factor(0.5, 0.2)))
RANDOM_COLOR_JITTER = of_colours(
    augmenting(
        "RandomColorJitter",
        *(Parameter(f"{what}_factor", None, (None, 0.2)) for what in ("brightness", "contrast", "saturation", "hue")),
    )
)
RANDOM_ELASTIC_TRANSFORM = augmenting("RandomElasticTransform", _factor(1.0, 0.5))
RANDOM_ERASING = augmenting("RandomErasing", _factor(1.0, 0.5))
RANDOM_GAUSSIAN_BLUR = augmenting("RandomGaussianBlur", _factor(1.0, 0.5))
RANDOM_GRAYSCALE = of_colours(augmenting("RandomGrayscale", Parameter("factor", 0.5, (0.5, 1.0), ("much",))))
RANDOM_INVERT = augmenting("RandomInvert", _factor(1.0, 0.5))
RANDOM_PERSPECTIVE = augmenting("RandomPerspective", _factor(1.0, 0.5))
RANDOM_POSTERIZATION = augmenting("RandomPosterization", Parameter("factor", None, (4, 8), required=True))
SOLARIZATION = augmenting(
    "Solarization",
    Parameter("addition_factor", 0.0, (0.0, 0.3), ("much",)),
    Parameter("threshold_factor", 0.0, (0.0, 0.5), ("much",)),
    formatted=False,
)


def _bins(params: Params) -> None:
    positive(params, "bins")
    channels_first(params)


#: Draws nothing, but does something in training only; the reference is of inference.
EQUALIZATION = passing(
    "Equalization",
    (4,),
    (Parameter("bins", 256, (256, 64)), DATA_FORMAT),
    _bins,
    "in inference, output = input; in training the histogram of each channel is made flat",
    random=True,
    domain=pixels,
)


def _same(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 4)
    return (shapes[0],)


def _stretch(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    x = inputs[0]
    low, high = x.min(axis=(1, 2), keepdims=True), x.max(axis=(1, 2), keepdims=True)
    flat = high == low
    scale = 255.0 / np.where(flat, 1.0, high - low)
    value = np.where(flat, x, np.clip((x - low) * scale, 0.0, 255.0))
    # Stretched and shifted apart, so that a narrow range leaves the rounding of two large numbers.
    kappa = np.where(flat, 0.0, np.abs(x * scale) + np.abs(low * scale) + 255.0)
    return (Evaluation(value, kappa),)


AUTO_CONTRAST = LayerSpec(
    name="AutoContrast",
    api="keras.layers.AutoContrast",
    arity=(1, 1),
    ranks=(4,),
    parameters=(),
    shape=_same,
    weights=no_weights,
    reference=_stretch,
    formula="output = each channel stretched so that its least value is 0 and its greatest 255; flat ones stay",
    domain=pixels,
    hazards=("channels are always the last axis",),
)
