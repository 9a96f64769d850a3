"""Rule 13, encode and decode, with encoders of ours: a library's GIF and BMP decoders give back what was written.

The file travels as web-safe base64, which the library itself turns into bytes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case, Counterpart
from ...core.rule import Agreement, Demands
from .base import Category, Equivalence
from .picture_files import NoPictureError, bmp_bytes, gif_bytes, read_bmp, read_gif
from .windows import VALUES, case_of

_IO = "tensorflow.io."
_FILE = ArrayArg("file")
_BYTES = ApiCall(f"{_IO}decode_base64", (_FILE,))
_SAME = ApiCall("tensorflow.identity", (ArrayArg("image"),))


def _call(name: str, **settings: object) -> ApiCall:
    return ApiCall(f"{_IO}{name}", (_BYTES,), settings)


#: What decodes, how such a file is drawn, and how ours is read again.
_GIF, _BMP = (_call("decode_gif"), _call("decode_image")), (_call("decode_bmp"), _call("decode_image"))


def _gif(rng: np.random.Generator) -> bytes:
    """Few shades in runs, or noise: the dictionary grows slowly, or is cleared."""
    shape = (int(rng.integers(1, 4)), int(rng.integers(1, 70)), int(rng.integers(1, 70)))
    shades = rng.choice(256, int(rng.integers(1, 257)), replace=False)
    return gif_bytes(rng.choice(shades, shape).astype(np.uint8))


def _bmp(channels: int, top_down: bool) -> Callable[[np.random.Generator], bytes]:
    def draw(rng: np.random.Generator) -> bytes:
        shape = (int(rng.integers(1, 20)), int(rng.integers(1, 20)), channels)
        return bmp_bytes(rng.integers(0, 256, shape).astype(np.uint8), top_down=top_down)

    return draw


_FILES = (
    *((call, _gif) for call in _GIF),
    *((call, _bmp(channels, down)) for call in _BMP for channels in (1, 3, 4) for down in (False, True)),
)


@dataclass(frozen=True)
class OurPictures(Equivalence):
    def applies(self, api: str) -> bool:
        return any(api == inner.api for call in (*_GIF, *_BMP) for inner in call.calls())

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 34])
        found = []
        for _ in range(max(1, count // len(_FILES))):
            for call, draw in _FILES:
                texts = [base64.urlsafe_b64encode(draw(rng)).decode().rstrip("=") for _ in range(VALUES)]
                found += [_one(call, text) for text in texts[: 1 + VALUES // 5]]
        return found

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or call not in (*_GIF, *_BMP) or set(case.inputs) != {"file"}:
            return None
        picture = _read(case.inputs["file"])
        return Counterpart(subject=_SAME, inputs={"image": picture}) if picture is not None else None


def _one(call: ApiCall, text: str) -> Case:
    """Pictures are of many sizes, so each is a case of its own."""
    return case_of(call, {"file": np.asarray([text], dtype=object)})


def _read(array: Array) -> Array | None:
    texts = array.reshape(-1).tolist()
    try:
        whole = [base64.urlsafe_b64decode(str(text) + "=" * (-len(str(text)) % 4)) for text in texts]
        pictures = [read_gif(data) if data[:3] == b"GIF" else read_bmp(data) for data in whole]
    except (NoPictureError, binascii.Error, ValueError):
        return None
    return np.stack(pictures) if array.ndim else pictures[0]


OUR_PICTURES = OurPictures(
    "encode-decode-ours",
    13,
    Category.INVERSE,
    "decode(our encode(I)) = I",
    {"torch": "pictures are torchvision's", "jax": "it has no pictures", "keras": "its backends encode"},
    Demands(agreement=Agreement.BITS, accused=0),
)
