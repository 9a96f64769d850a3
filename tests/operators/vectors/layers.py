"""Layers at the edges, by hand: the numbers of each input in their order, with its shape, and those of the output.

Where nothing else is said, kernels and scales are 1, offsets and means 0, variances 1: what goes in is then what comes
out, times a factor that can be said. ``S`` has both infinities, NaN, both ends of float64, zeros of both signs, a tie.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .numbers import HUGE, INF, NAN, SUBNORMAL

Numbers = list[float]
Shape = tuple[int, ...]
S: Numbers = [INF, -INF, NAN, HUGE, -HUGE, SUBNORMAL, 0.0, -0.0]
#: 2**31 - 1 and -2**31.
MOST, LEAST = 2147483647, -2147483648
_SIGMOID1 = 1 / (1 + math.exp(-1.0))


@dataclass(frozen=True)
class LayerVector:
    """One call of a layer.

    Args:
        inputs: of each its shape and its numbers; ``value`` likewise, of the first output.
        weights: by the end of their names, all of whose numbers are this; the rest by their roles.
    """

    inputs: tuple[tuple[Shape, Numbers], ...]
    value: tuple[Shape, Numbers]
    params: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)


def _same(shape: Shape, **params: Any) -> list[LayerVector]:
    """Whatever goes in comes out."""
    return [LayerVector(((shape, S),), (shape, S), params)]


def _one(shape: Shape, x: Numbers, out: Shape, y: Numbers, **params: Any) -> LayerVector:
    return LayerVector(((shape, x),), (out, y), params)


def _two(shape: Shape, a: Numbers, b: Numbers, y: Numbers, **params: Any) -> LayerVector:
    return LayerVector(((shape, a), (shape, b)), (shape, y), params)


def _class(name: str, **config: Any) -> dict[str, Any]:
    return {
        "module": "keras.layers",
        "class_name": name,
        "config": {"name": name.lower(), **config},
        "registered_name": None,
    }


_IMAGE = (1, 2, 4, 1)
_COLOURS = (1, 2, 2, 2)
_ROW, _STEPS = (1, 8), (1, 8, 1)
_TAP = {"filters": 1, "kernel_size": 1}
#: Without NaN and infinities, where a sum would be nothing but NaN.
_PLAIN: Numbers = [HUGE, -HUGE, SUBNORMAL, 0.0]

_IN_INFERENCE = [
    "AugMix",
    "CutMix",
    "MixUp",
    "RandAugment",
    "RandomColorJitter",
    "RandomElasticTransform",
    "RandomErasing",
    "RandomFlip",
    "RandomGaussianBlur",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPerspective",
    "RandomShear",
    "Solarization",
]
_WITH_FACTOR = [
    "RandomBrightness",
    "RandomColorDegeneration",
    "RandomContrast",
    "RandomHue",
    "RandomRotation",
    "RandomSaturation",
    "RandomSharpness",
]
#: Three channels, as colours are, without what is no colour.
_COLOURED = ((1, 1, 2, 3), [0.0, 255.0, 127.5, 1e-40, 12.0, 12.0])


def _coloured(**params: Any) -> list[LayerVector]:
    return [LayerVector((_COLOURED,), _COLOURED, params)]


VECTORS: dict[str, list[LayerVector]] = {
    **{name: _coloured() for name in _IN_INFERENCE},
    **{name: _coloured(factor=0.5) for name in _WITH_FACTOR},
    "RandomPosterization": _coloured(factor=4),
    "RandomTranslation": _coloured(height_factor=0.2, width_factor=0.2),
    "RandomZoom": _coloured(height_factor=0.2),
    # nothing happens in inference
    "Identity": _same(_ROW),
    "ActivityRegularization": _same(_ROW),
    "Dropout": _same(_ROW, rate=0.25),
    "AlphaDropout": _same(_ROW, rate=0.25),
    "GaussianDropout": _same(_ROW, rate=0.25),
    "GaussianNoise": _same(_ROW, stddev=0.1),
    "SpatialDropout1D": _same(_STEPS, rate=0.25),
    "SpatialDropout2D": _same(_IMAGE, rate=0.25),
    "SpatialDropout3D": _same((1, 2, 2, 2, 1), rate=0.25),
    "Masking": [
        _one(
            (1, 4, 2),
            [INF, 0.0, 0.0, -0.0, NAN, 0.0, HUGE, SUBNORMAL],
            (1, 4, 2),
            [INF, 0.0, 0.0, 0.0, NAN, 0.0, HUGE, SUBNORMAL],
        )
    ],
    # numbers are moved
    "Flatten": [_one((1, 2, 4), S, (1, 8), S)],
    "Reshape": [_one((1, 8), S, (1, 4, 2), S, target_shape=(-1, 2))],
    "Permute": [_one((1, 2, 4), S, (1, 4, 2), [S[i] for i in (0, 4, 1, 5, 2, 6, 3, 7)], dims=(2, 1))],
    "RepeatVector": [_one((1, 8), S, (1, 2, 8), [*S, *S], n=2)],
    "Cropping1D": [_one(_STEPS, S, (1, 6, 1), S[1:7], cropping=1)],
    "Cropping2D": [
        _one((1, 3, 3, 1), [9.0, 9.0, 9.0, 9.0, NAN, 9.0, 9.0, 9.0, 9.0], (1, 1, 1, 1), [NAN], cropping=1),
        _one((1, 3, 3, 1), [NAN] * 4 + [INF] + [NAN] * 4, (1, 1, 1, 1), [INF], cropping=1),
        _one((1, 3, 3, 1), [NAN] * 4 + [HUGE] + [NAN] * 4, (1, 1, 1, 1), [HUGE], cropping=1),
        _one((1, 3, 3, 1), [NAN] * 4 + [SUBNORMAL] + [NAN] * 4, (1, 1, 1, 1), [SUBNORMAL], cropping=1),
    ],
    "Cropping3D": [
        _one((1, 3, 3, 3, 1), [NAN] * 13 + [HUGE] + [INF] * 13, (1, 1, 1, 1, 1), [HUGE], cropping=1),
        _one((1, 3, 3, 3, 1), [NAN] * 13 + [SUBNORMAL] + [INF] * 13, (1, 1, 1, 1, 1), [SUBNORMAL], cropping=1),
    ],
    "ZeroPadding1D": [
        _one((1, 2, 1), [a, b], (1, 4, 1), [0.0, a, b, 0.0], padding=1) for a, b in ((NAN, INF), (HUGE, SUBNORMAL))
    ],
    "ZeroPadding2D": [
        _one((1, 1, 1, 1), [INF], (1, 3, 3, 1), [0.0] * 4 + [INF] + [0.0] * 4, padding=1),
        _one((1, 1, 1, 1), [HUGE], (1, 3, 3, 1), [0.0] * 4 + [HUGE] + [0.0] * 4, padding=1),
        _one((1, 1, 1, 1), [NAN], (1, 3, 3, 1), [0.0] * 4 + [NAN] + [0.0] * 4, padding=1),
        _one((1, 1, 1, 1), [SUBNORMAL], (1, 3, 3, 1), [0.0] * 4 + [SUBNORMAL] + [0.0] * 4, padding=1),
    ],
    "ZeroPadding3D": [
        _one((1, 1, 1, 1, 1), [x], (1, 3, 3, 3, 1), [0.0] * 13 + [x] + [0.0] * 13, padding=1)
        for x in (NAN, INF, HUGE, SUBNORMAL)
    ],
    "UpSampling1D": [
        _one((1, 2, 1), [a, b], (1, 4, 1), [a, a, b, b], size=2) for a, b in ((NAN, INF), (HUGE, SUBNORMAL))
    ],
    "UpSampling2D": [
        _one((1, 1, 2, 1), [NAN, INF], (1, 2, 4, 1), [NAN, NAN, INF, INF] * 2, size=(2, 2)),
        _one((1, 1, 2, 1), [HUGE, SUBNORMAL], (1, 2, 4, 1), [HUGE, HUGE, SUBNORMAL, SUBNORMAL] * 2, size=(2, 2)),
        _one((1, 1, 2, 1), [HUGE, HUGE], (1, 1, 4, 1), [HUGE] * 4, size=(1, 2), interpolation="bilinear"),
        _one((1, 1, 2, 1), [NAN, 1.0], (1, 1, 4, 1), [NAN, NAN, NAN, 1.0], size=(1, 2), interpolation="bilinear"),
        _one((1, 1, 2, 1), [1.0, NAN], (1, 1, 4, 1), [1.0, NAN, NAN, NAN], size=(1, 2), interpolation="bilinear"),
        _one((1, 1, 2, 1), [INF, 1.0], (1, 1, 4, 1), [INF, INF, INF, 1.0], size=(1, 2), interpolation="bilinear"),
    ],
    "UpSampling3D": [
        _one((1, 1, 1, 2, 1), [a, b], (1, 2, 2, 4, 1), [a, a, b, b] * 4, size=(2, 2, 2))
        for a, b in ((NAN, INF), (HUGE, SUBNORMAL))
    ],
    "Concatenate": [LayerVector((((1, 4), S[:4]), ((1, 4), S[4:])), ((1, 8), S))],
    "CenterCrop": [
        _one((1, 3, 3, 1), [NAN] * 4 + [x] + [NAN] * 4, (1, 1, 1, 1), [x], height=1, width=1)
        for x in (INF, HUGE, SUBNORMAL)
    ],
    # At twice the size: -1/4, 1/4, 3/4, 5/4. At the same size, and at a third, every place is the centre of a pixel
    # and has all of it: no neighbour counts, at either edge.
    "Resizing": [
        _one((1, 1, 2, 1), [NAN, 1.0], (1, 1, 4, 1), [NAN, NAN, NAN, 1.0], height=1, width=4),
        _one((1, 1, 2, 1), [1.0, NAN], (1, 1, 4, 1), [1.0, NAN, NAN, NAN], height=1, width=4),
        _one((1, 1, 2, 1), [INF, 1.0], (1, 1, 4, 1), [INF, INF, INF, 1.0], height=1, width=4),
        _one((1, 1, 3, 1), [1.0, NAN, 2.0], (1, 1, 3, 1), [1.0, NAN, 2.0], height=1, width=3),
        _one((1, 1, 3, 1), [NAN, 5.0, NAN], (1, 1, 1, 1), [5.0], height=1, width=1),
        _one((1, 1, 2, 1), [HUGE, HUGE], (1, 1, 3, 1), [HUGE] * 3, height=1, width=3),
        _one((1, 1, 3, 1), [1.0, INF, 2.0], (1, 1, 3, 1), [1.0, INF, 2.0], height=1, width=3, interpolation="bicubic"),
        _one(
            (1, 1, 2, 1),
            [SUBNORMAL, NAN],
            (1, 1, 4, 1),
            [SUBNORMAL, SUBNORMAL, NAN, NAN],
            height=1,
            width=4,
            interpolation="nearest",
        ),
    ],
    "RandomCrop": [],
    # merging
    "Add": [
        _two((1, 4), [INF, INF, NAN, HUGE], [1.0, -INF, 1.0, -HUGE], [INF, NAN, NAN, 0.0]),
        _two((1, 1), [SUBNORMAL], [SUBNORMAL], [2 * SUBNORMAL]),
    ],
    "Subtract": [
        _two((1, 4), [INF, INF, NAN, HUGE], [1.0, INF, 1.0, HUGE], [INF, NAN, NAN, 0.0]),
        _two((1, 1), [SUBNORMAL], [0.0], [SUBNORMAL]),
    ],
    "Multiply": [
        _two((1, 4), [INF, INF, NAN, HUGE], [2.0, 0.0, 0.0, 1e-300], [INF, NAN, NAN, 1.0]),
        _two((1, 1), [SUBNORMAL], [2.0], [2 * SUBNORMAL]),
    ],
    "Average": [
        _two((1, 4), [INF, INF, NAN, 1.5e308], [1.0, -INF, 1.0, 1.5e308], [INF, NAN, NAN, 1.5e308]),
        _two((1, 1), [SUBNORMAL], [SUBNORMAL], [SUBNORMAL]),
    ],
    "Maximum": [
        _two((1, 5), [INF, -INF, NAN, HUGE, SUBNORMAL], [1.0, 2.0, 1.0, HUGE, 0.0], [INF, 2.0, NAN, HUGE, SUBNORMAL])
    ],
    "Minimum": [
        _two((1, 5), [INF, -INF, NAN, HUGE, -SUBNORMAL], [1.0, 2.0, 1.0, HUGE, 0.0], [1.0, -INF, NAN, HUGE, -SUBNORMAL])
    ],
    "Dot": [
        LayerVector((((1, 2), [INF, 1.0]), ((1, 2), [1.0, 1.0])), ((1, 1), [INF]), {"axes": 1}),
        LayerVector((((1, 2), [INF, 1.0]), ((1, 2), [0.0, 1.0])), ((1, 1), [NAN]), {"axes": 1}),
        LayerVector((((1, 2), [HUGE, -HUGE]), ((1, 2), [1.0, 1.0])), ((1, 1), [0.0]), {"axes": 1}),
        LayerVector((((1, 2), [NAN, SUBNORMAL]), ((1, 2), [1.0, 1.0])), ((1, 1), [NAN]), {"axes": 1}),
        LayerVector((((1, 2), [SUBNORMAL, 0.0]), ((1, 2), [1.0, 1.0])), ((1, 1), [SUBNORMAL]), {"axes": 1}),
    ],
    # activations; their functions have vectors of their own
    "Activation": [
        _one((1, 3), [INF, -INF, NAN], (1, 3), [INF, 0.0, NAN], activation="silu"),
        _one((1, 3), [INF, -INF, NAN], (1, 3), [1.0, -1.0, NAN], activation="softsign"),
        _one((1, 3), [HUGE, -HUGE, SUBNORMAL], (1, 3), [HUGE, 0.0, 1.0], activation="squareplus"),
        _one((1, 3), [HUGE, 0.0, -INF], (1, 3), [1.0, 0.0, 0.0], activation="sparsemax"),
        _one((1, 3), [INF, 0.0, 1.0], (1, 3), [1.0, 0.0, 0.0], activation="sparsemax"),
    ],
    "ReLU": [
        _one(_ROW, S, _ROW, [INF, 0.0, NAN, HUGE, 0.0, SUBNORMAL, 0.0, 0.0]),
        _one((1, 3), [6.0, INF, -INF], (1, 3), [6.0, 6.0, -INF], max_value=6.0, negative_slope=0.5),
    ],
    "LeakyReLU": [_one(_ROW, S, _ROW, [INF, -INF, NAN, HUGE, -5e299, SUBNORMAL, 0.0, 0.0], negative_slope=0.5)],
    "ELU": [_one(_ROW, S, _ROW, [INF, -1.0, NAN, HUGE, -1.0, SUBNORMAL, 0.0, 0.0])],
    "PReLU": [
        LayerVector(((_ROW, S),), (_ROW, [INF, -INF, NAN, HUGE, -5e299, SUBNORMAL, 0.0, 0.0]), {}, {"alpha": 0.5})
    ],
    "Softmax": [
        _one((1, 3), [-INF, 0.0, 0.0], (1, 3), [0.0, 0.5, 0.5]),
        _one((1, 2), [NAN, 0.0], (1, 2), [NAN, NAN]),
        _one((1, 2), [HUGE, -HUGE], (1, 2), [1.0, 0.0]),
        _one((1, 2), [SUBNORMAL, 0.0], (1, 2), [0.5, 0.5]),
    ],
    # products with kernels of 1
    "Dense": [
        _one((1, 2), [INF, 1.0], (1, 1), [INF], units=1),
        _one((1, 2), [INF, -INF], (1, 1), [NAN], units=1),
        _one((1, 2), [HUGE, -HUGE], (1, 1), [0.0], units=1),
        _one((1, 2), [SUBNORMAL, 0.0], (1, 1), [SUBNORMAL], units=1),
        LayerVector((((1, 2), [NAN, 1.0]),), ((1, 1), [NAN]), {"units": 1}, {"kernel": 0.0}),
    ],
    "EinsumDense": [
        _one((1, 2), [INF, 1.0], (1, 1), [INF], equation="ab,bc->ac", output_shape=1),
        _one((1, 2), [NAN, SUBNORMAL], (1, 1), [NAN], equation="ab,bc->ac", output_shape=1),
        _one((1, 2), [HUGE, -HUGE], (1, 1), [0.0], equation="ab,bc->ac", output_shape=1),
    ],
    "Conv1D": [
        _one(_STEPS, S, _STEPS, S, **_TAP),
        _one((1, 3, 1), [HUGE, -HUGE, 1.0], (1, 2, 1), [0.0, -HUGE], filters=1, kernel_size=2),
    ],
    "Conv2D": [_one(_IMAGE, S, _IMAGE, S, **_TAP)],
    "Conv3D": [_one((1, 2, 2, 2, 1), S, (1, 2, 2, 2, 1), S, **_TAP)],
    "Conv1DTranspose": [_one(_STEPS, S, _STEPS, S, **_TAP)],
    "Conv2DTranspose": [_one(_IMAGE, S, _IMAGE, S, **_TAP)],
    "Conv3DTranspose": [_one((1, 2, 2, 2, 1), S, (1, 2, 2, 2, 1), S, **_TAP)],
    "DepthwiseConv1D": [_one(_STEPS, S, _STEPS, S, kernel_size=1)],
    "DepthwiseConv2D": [_one(_IMAGE, S, _IMAGE, S, kernel_size=1)],
    "SeparableConv1D": [_one(_STEPS, S, _STEPS, S, **_TAP)],
    "SeparableConv2D": [_one(_IMAGE, S, _IMAGE, S, **_TAP)],
    "SpectralNormalization": [
        LayerVector((((1, 1), [x]),), ((1, 1), [y]), {"layer": _class("Dense", units=1)}, {"vector_u": 1.0})
        for x, y in ((INF, INF), (NAN, NAN), (HUGE, HUGE), (SUBNORMAL, SUBNORMAL))
    ],
    "TimeDistributed": [
        _one(
            (1, 4, 1),
            [INF, NAN, HUGE, SUBNORMAL],
            (1, 4, 1),
            [INF, NAN, HUGE, SUBNORMAL],
            layer=_class("Dense", units=1),
        )
    ],
    # windows
    **{
        f"MaxPooling{d}D": [
            _one(
                (1, *[1] * (d - 1), 8, 1),
                S,
                (1, *[1] * (d - 1), 4, 1),
                [INF, NAN, SUBNORMAL, 0.0],
                pool_size=(*[1] * (d - 1), 2) if d > 1 else 2,
            )
        ]
        for d in (1, 2, 3)
    },
    **{
        f"AveragePooling{d}D": [
            _one(
                (1, *[1] * (d - 1), 8, 1),
                [INF, -INF, NAN, 1.0, 1.5e308, 1.5e308, SUBNORMAL, SUBNORMAL],
                (1, *[1] * (d - 1), 4, 1),
                [NAN, NAN, 1.5e308, SUBNORMAL],
                pool_size=(*[1] * (d - 1), 2) if d > 1 else 2,
            )
        ]
        for d in (1, 2, 3)
    },
    **{
        f"AdaptiveMaxPooling{d}D": [
            _one(
                (1, *[1] * (d - 1), 8, 1),
                S,
                (1, *[1] * (d - 1), 4, 1),
                [INF, NAN, SUBNORMAL, 0.0],
                output_size=(*[1] * (d - 1), 4) if d > 1 else 4,
            )
        ]
        for d in (1, 2, 3)
    },
    **{
        f"AdaptiveAveragePooling{d}D": [
            _one(
                (1, *[1] * (d - 1), 8, 1),
                [INF, -INF, NAN, 1.0, 1.5e308, 1.5e308, SUBNORMAL, SUBNORMAL],
                (1, *[1] * (d - 1), 4, 1),
                [NAN, NAN, 1.5e308, SUBNORMAL],
                output_size=(*[1] * (d - 1), 4) if d > 1 else 4,
            )
        ]
        for d in (1, 2, 3)
    },
    **{
        f"GlobalMaxPooling{d}D": [
            _one(
                (1, *[1] * (d - 1), 2, 4),
                [INF, NAN, SUBNORMAL, 2.0, HUGE, 1.0, 0.0, 2.0],
                (1, 4),
                [INF, NAN, SUBNORMAL, 2.0],
            )
        ]
        for d in (1, 2, 3)
    },
    **{
        f"GlobalAveragePooling{d}D": [
            _one(
                (1, *[1] * (d - 1), 2, 4),
                [INF, NAN, SUBNORMAL, 1.5e308, 1.0, 1.0, SUBNORMAL, 1.5e308],
                (1, 4),
                [INF, NAN, SUBNORMAL, 1.5e308],
            )
        ]
        for d in (1, 2, 3)
    },
    # normalizations, with epsilon 0 where the layer takes it
    "BatchNormalization": [
        LayerVector((((1, 8), S),), ((1, 8), S), {"epsilon": 1e-12}, {"moving_variance": 1.0 - 1e-12})
    ],
    "Normalization": [LayerVector((((1, 8), S),), ((1, 8), S), {"mean": None}, {})],
    "LayerNormalization": [
        _one((1, 2), [NAN, 1.0], (1, 2), [NAN, NAN]),
        _one((1, 2), [INF, 1.0], (1, 2), [NAN, NAN]),
        _one((1, 2), [3.0, 3.0], (1, 2), [0.0, 0.0]),
        _one((1, 2), [HUGE, -HUGE], (1, 2), [1.0, -1.0], epsilon=1e-3),
        _one((1, 2), [SUBNORMAL, -SUBNORMAL], (1, 2), [SUBNORMAL / 2**-5, -SUBNORMAL / 2**-5], epsilon=2.0**-10),
    ],
    "GroupNormalization": [
        _one((1, 2), [NAN, 1.0], (1, 2), [NAN, NAN], groups=1),
        _one((1, 2), [INF, 1.0], (1, 2), [NAN, NAN], groups=1),
        _one((1, 2), [NAN, 3.0], (1, 2), [NAN, 0.0], groups=2),
        _one((1, 2), [HUGE, -HUGE], (1, 2), [1.0, -1.0], groups=1),
        _one((1, 2), [SUBNORMAL, -SUBNORMAL], (1, 2), [SUBNORMAL * 32, -SUBNORMAL * 32], groups=1, epsilon=2.0**-10),
    ],
    "RMSNormalization": [
        _one((1, 2), [NAN, 1.0], (1, 2), [NAN, NAN]),
        _one((1, 2), [INF, 1.0], (1, 2), [NAN, 0.0]),
        _one((1, 2), [HUGE, -HUGE], (1, 2), [1.0, -1.0]),
        _one((1, 2), [SUBNORMAL, 0.0], (1, 2), [SUBNORMAL * 32, 0.0], epsilon=2.0**-10),
    ],
    "UnitNormalization": [
        _one((1, 2), [3e300, 4e300], (1, 2), [0.6, 0.8]),
        _one((1, 2), [NAN, 1.0], (1, 2), [NAN, NAN]),
        _one((1, 2), [INF, 1.0], (1, 2), [NAN, 0.0]),
        _one((1, 2), [0.0, 0.0], (1, 2), [0.0, 0.0]),
        # Lengths below 1e-12 count as that.
        _one((1, 2), [SUBNORMAL, 0.0], (1, 2), [SUBNORMAL * 1e12, 0.0]),
    ],
    # Recurrent layers, kernels of 1 and no bias. A cell's gates are sigmoids of what it gets: at an infinity 0 or 1.
    "SimpleRNN": [
        LayerVector(
            (((1, 2, 1), [x, 0.0]),),
            ((1, 2, 1), [first, second]),
            {"units": 1, "return_sequences": True},
            {"recurrent_kernel": 0.0},
        )
        for x, first, second in (
            (INF, 1.0, 0.0),
            (-INF, -1.0, 0.0),
            (NAN, NAN, NAN),
            (HUGE, 1.0, 0.0),
            (SUBNORMAL, SUBNORMAL, 0.0),
        )
    ],
    "LSTM": [
        LayerVector((((1, 1, 1), [x]),), ((1, 1), [y]), {"units": 1}, {"bias": 0.0})
        for x, y in (
            (INF, math.tanh(1.0)),
            (-INF, 0.0),
            (NAN, NAN),
            (HUGE, math.tanh(1.0)),
            (0.0, 0.0),
            (SUBNORMAL, SUBNORMAL / 4),
        )
    ],
    "GRU": [
        LayerVector((((1, 1, 1), [x]),), ((1, 1), [y]), {"units": 1}, {"bias": 0.0})
        for x, y in ((INF, 0.0), (-INF, -1.0), (NAN, NAN), (HUGE, 0.0), (0.0, 0.0), (SUBNORMAL, SUBNORMAL / 2))
    ],
    "RNN": [
        LayerVector((((1, 1, 1), [x]),), ((1, 1), [y]), {"cell": _class("SimpleRNNCell", units=1)}, {"bias": 0.0})
        for x, y in ((INF, 1.0), (NAN, NAN), (HUGE, 1.0), (SUBNORMAL, SUBNORMAL))
    ],
    "Bidirectional": [
        LayerVector((((1, 1, 1), [x]),), ((1, 2), [y, y]), {"layer": _class("SimpleRNN", units=1)}, {"bias": 0.0})
        for x, y in ((INF, 1.0), (NAN, NAN), (HUGE, 1.0), (SUBNORMAL, SUBNORMAL))
    ],
    **{
        f"ConvLSTM{d}D": [
            LayerVector(
                (((1, 1, *[1] * d, 1), [x]),), ((1, *[1] * d, 1), [y]), _TAP, {"bias": 0.0, "recurrent_kernel": 0.0}
            )
            for x, y in (
                (INF, math.tanh(1.0)),
                (-INF, 0.0),
                (NAN, NAN),
                (HUGE, math.tanh(1.0)),
                (SUBNORMAL, SUBNORMAL / 4),
            )
        ]
        for d in (1, 2, 3)
    },
    # attention over two values with equal scores, or with all of the weight on one: what has none is left out
    "Attention": [
        LayerVector((((1, 1, 1), [q]), ((1, 2, 1), v), ((1, 2, 1), k)), ((1, 1, 1), [y]))
        for q, v, k, y in (
            (1.0, [1.0, 3.0], [2.0, 2.0], 2.0),
            (NAN, [1.0, 3.0], [2.0, 2.0], NAN),
            (1.0, [INF, 3.0], [2.0, 2.0], INF),
            (HUGE, [1.0, 3.0], [1.0, -1.0], 1.0),
            (SUBNORMAL, [1.0, 3.0], [1.0, 1.0], 2.0),
        )
    ],
    "AdditiveAttention": [
        LayerVector((((1, 1, 1), [q]), ((1, 2, 1), v), ((1, 2, 1), k)), ((1, 1, 1), [y]))
        for q, v, k, y in (
            (1.0, [1.0, 3.0], [2.0, 2.0], 2.0),
            (NAN, [1.0, 3.0], [2.0, 2.0], NAN),
            (1.0, [INF, 3.0], [2.0, 2.0], INF),
            (HUGE, [1.0, 3.0], [1.0, 1.0], 2.0),
            (SUBNORMAL, [1.0, 3.0], [1.0, 1.0], 2.0),
        )
    ],
    "MultiHeadAttention": [
        LayerVector((((1, 1, 1), [q]), ((1, 2, 1), v)), ((1, 1, 1), [y]), {"num_heads": 1, "key_dim": 1})
        for q, v, y in (
            (0.0, [1.0, 3.0], 2.0),
            (NAN, [1.0, 3.0], NAN),
            (0.0, [2.0, NAN], NAN),
            (HUGE, [1.0, 3.0], 3.0),
            (SUBNORMAL, [1.0, 3.0], 2.0),
            (1.0, [INF, INF], NAN),
        )
    ],
    "GroupQueryAttention": [
        LayerVector(
            (((1, 1, 1), [q]), ((1, 2, 1), v)),
            ((1, 1, 1), [y]),
            {"head_dim": 1, "num_query_heads": 2, "num_key_value_heads": 1},
        )
        for q, v, y in (
            (0.0, [1.0, 3.0], 4.0),
            (NAN, [1.0, 3.0], NAN),
            (HUGE, [1.0, 3.0], 6.0),
            (SUBNORMAL, [1.0, 3.0], 4.0),
            (1.0, [INF, INF], NAN),
        )
    ],
    # integers
    "Embedding": [
        LayerVector((((1, 2), [0, 2]),), ((1, 2, 1), [w, w]), {"input_dim": 3, "output_dim": 1}, {"embeddings": w})
        for w in (INF, NAN, HUGE, SUBNORMAL)
    ],
    "ReversibleEmbedding": [
        LayerVector((((1, 2), [0, 2]),), ((1, 2, 1), [w, w]), {"input_dim": 3, "output_dim": 1}, {"embeddings": w})
        for w in (INF, NAN, HUGE, SUBNORMAL)
    ],
    "CategoryEncoding": [
        _one((1, 3), [0, 2, 2], (1, 3), [1.0, 0.0, 1.0], num_tokens=3),
        _one((1, 3), [0, 2, 2], (1, 3), [1.0, 0.0, 2.0], num_tokens=3, output_mode="count"),
    ],
    "IntegerLookup": [_one((1, 4), [4, 2, MOST, LEAST], (1, 4), [1, 2, 0, 0], vocabulary=(4, 2, 3))],
    "Hashing": [_one((1, 3), [0, MOST, LEAST], (1, 3), [0, 0, 0], num_bins=1)],
    "HashedCrossing": [LayerVector((((2, 1), [MOST, LEAST]), ((2, 1), [0, LEAST])), ((2, 1), [0, 0]), {"num_bins": 1})],
    # a boundary belongs to the bin above it
    "Discretization": [
        _one(
            (1, 7),
            [-INF, -1.0, 0.0, SUBNORMAL, 1.5, HUGE, INF],
            (1, 7),
            [0, 1, 2, 2, 3, 3, 3],
            bin_boundaries=(-1.0, 0.0, 1.5),
        )
    ],
    # images
    "Rescaling": [_one(_ROW, S, _ROW, [INF, -INF, NAN, 5e299, -5e299, SUBNORMAL / 2, 0.0, 0.0], scale=0.5)],
    "AutoContrast": [
        _one((1, 1, 2, 1), [7.0, 7.0], (1, 1, 2, 1), [7.0, 7.0]),
        _one((1, 1, 3, 1), [1.0, 2.0, 3.0], (1, 1, 3, 1), [0.0, 127.5, 255.0]),
    ],
    "Equalization": [_one((1, 1, 2, 1), [7.0, 7.0], (1, 1, 2, 1), [7.0, 7.0])],
    # sounds: of silence nothing, or what the floor of the decibels leaves
    "STFTSpectrogram": [LayerVector((((1, 256, 1), [0.0] * 256),), ((1, 1, 129), [0.0] * 129), {"mode": "real"})],
    "MelSpectrogram": [],
    "ContrastLimitedAdaptiveHistogramEqualization": [],
}
#: Layers of which no vector is there, and why.
REASONS: dict[str, str] = {
    "RandomCrop": "its documentation does not say what it does in inference: the targets vote",
    "ContrastLimitedAdaptiveHistogramEqualization": "its documentation names a method and no formula: targets vote",
    "MelSpectrogram": "its filters have no value by hand; held against SciPy's transform in test_mel.py",
}
#: Layers of integers or of colours, which have neither NaN nor infinities.
BOUNDED = frozenset(
    [
        "CategoryEncoding",
        "IntegerLookup",
        "Hashing",
        "HashedCrossing",
        "Discretization",
        "AutoContrast",
        "Equalization",
        "STFTSpectrogram",
    ]
) | {*_IN_INFERENCE, *_WITH_FACTOR, "RandomPosterization", "RandomTranslation", "RandomZoom"}
