"""Rule 9, normalised image: an image of whole numbers up to 255, and the same between 0 and 1, within a grey level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.call import ApiCall, ArrayArg, DtypeArg
from ...core.case import Case, Counterpart
from ...core.rule import Demands
from .base import Category, Equivalence
from .windows import VALUES, case_of

_I = ArrayArg("image")
_T = "tensorflow.image."
#: Functions of an image that are documented for both forms.
CALLS = (
    ApiCall(f"{_T}adjust_brightness", (_I, 0.2)),
    ApiCall(f"{_T}adjust_brightness", (_I, -0.3)),
    ApiCall(f"{_T}adjust_contrast", (_I, 1.5)),
    ApiCall(f"{_T}adjust_contrast", (_I, 0.5)),
    ApiCall(f"{_T}adjust_hue", (_I, 0.1)),
    ApiCall(f"{_T}adjust_hue", (_I, -0.4)),
    ApiCall(f"{_T}adjust_saturation", (_I, 2.0)),
    ApiCall(f"{_T}adjust_saturation", (_I, 0.5)),
    ApiCall(f"{_T}adjust_gamma", (_I, 2.0)),
    ApiCall(f"{_T}adjust_gamma", (_I, 0.5)),
    ApiCall(f"{_T}rgb_to_grayscale", (_I,)),
    ApiCall(f"{_T}flip_left_right", (_I,)),
    ApiCall(f"{_T}flip_up_down", (_I,)),
    ApiCall(f"{_T}transpose", (_I,)),
    ApiCall(f"{_T}rot90", (_I,)),
    ApiCall(f"{_T}central_crop", (_I, 0.5)),
    ApiCall(f"{_T}resize_with_crop_or_pad", (_I, 5, 9)),
    ApiCall(f"{_T}crop_to_bounding_box", (_I, 1, 0, 2, 3)),
    ApiCall(f"{_T}pad_to_bounding_box", (_I, 1, 2, 12, 13)),
)
_APIS = frozenset(call.api for call in CALLS)


@dataclass(frozen=True)
class NormalisedImage(Equivalence):
    def applies(self, api: str) -> bool:
        return api in _APIS

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 9])
        found = []
        for place in range(count):
            shape = (VALUES, int(rng.integers(3, 9)), int(rng.integers(3, 9)), 3)
            image = rng.integers(0, 256, shape).astype(np.uint8)
            image[0] = rng.choice([0, 255], shape[1:]).astype(np.uint8)
            found.append(case_of(CALLS[place % len(CALLS)], {"image": image}))
        return found

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or call.api not in _APIS or call.args[:1] != (_I,):
            return None
        if case.inputs["image"].dtype != np.uint8:
            return None
        small = ApiCall(f"{_T}convert_image_dtype", (_I, DtypeArg("float32")))
        whole = ApiCall(call.api, (small, *call.args[1:]), dict(call.kwargs))
        back = ApiCall(f"{_T}convert_image_dtype", (whole, DtypeArg("uint8")), {"saturate": True})
        return Counterpart(subject=back)


NORMALISED_IMAGE = NormalisedImage(
    "normalised-image",
    9,
    Category.FORMAT,
    "F(I) = denormalize(F(normalize(I)))",
    {
        "torch": "images are torchvision's",
        "jax": "its image functions know no range of values",
        "keras": "its image functions know no range of values; layers with value_range are judged by their reference",
    },
    Demands(within=1.0),
)
