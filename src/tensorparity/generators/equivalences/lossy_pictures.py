"""Rule 13, encode and decode, with loss: a smooth picture comes back from JPEG within a stated ratio to the noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case, Counterpart
from ...core.rule import Demands
from .base import Category, Equivalence
from .windows import VALUES, case_of

_IMAGE = ArrayArg("image")
_IO = "tensorflow.io."
#: What these qualities keep of a smooth picture with room to spare; a shifted row or a swapped channel has far less.
DECIBELS = 30.0
_QUALITIES = (95, 100)


def _call(quality: int, **more: object) -> ApiCall:
    encoded = ApiCall(f"{_IO}encode_jpeg", (_IMAGE,), {"quality": quality, **more})
    return ApiCall(f"{_IO}decode_jpeg", (encoded,))


CALLS = (
    *(_call(quality) for quality in _QUALITIES),
    _call(95, progressive=True),
    _call(95, optimize_size=True),
    _call(95, chroma_downsampling=False),
    ApiCall(f"{_IO}decode_image", (_call(95).args[0],)),
    ApiCall(f"{_IO}decode_and_crop_jpeg", (_call(95).args[0], (0, 0, 16, 16))),
)


def smooth(rng: np.random.Generator) -> Array:
    """Waves, a few pixels long at the least, gray or in colours."""
    height, width, channels = int(rng.integers(16, 40)), int(rng.integers(16, 40)), int(rng.choice([1, 3]))
    y, x = np.mgrid[0:height, 0:width]
    found = []
    for _ in range(VALUES):
        a, b, c = rng.uniform(0.02, 0.12, 3)
        wave = np.sin(2 * np.pi * (a * y + b * x + c))[..., None] * rng.uniform(20, 60, channels)
        found.append(np.clip(np.rint(128 + wave + rng.uniform(-40, 40, channels)), 0, 255))
    return np.stack(found).astype(np.uint8)


@dataclass(frozen=True)
class LossyPictures(Equivalence):
    def applies(self, api: str) -> bool:
        return any(api == inner.api for call in CALLS for inner in call.calls())

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 33])
        turns = max(1, count // len(CALLS))
        return [case_of(call, {"image": smooth(rng)}) for _ in range(turns) for call in CALLS]

    def counterpart(self, case: Case) -> Counterpart | None:
        if case.subject not in CALLS:
            return None
        assert isinstance(case.subject, ApiCall)
        same = ApiCall("tensorflow.identity", (_IMAGE,))
        if case.subject.api.endswith("crop_jpeg"):
            same = ApiCall("tensorflow.image.crop_to_bounding_box", (_IMAGE, 0, 0, 16, 16))
        return Counterpart(subject=same)


LOSSY = LossyPictures(
    "encode-decode-lossy",
    13,
    Category.INVERSE,
    f"decode(encode(I)) = I within {DECIBELS:g} dB",
    {
        "torch": "pictures are torchvision's",
        "jax": "it has no pictures",
        "keras": "its backends encode",
    },
    Demands(decibels=DECIBELS, accused=0),
)
