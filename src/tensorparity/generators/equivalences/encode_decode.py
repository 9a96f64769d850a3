"""Rule 13, encode and decode: what was encoded without loss comes back as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg, DtypeArg
from ...core.case import Case, Counterpart
from ...core.rule import Agreement, Demands
from .base import Category, Equivalence, library_of_name
from .windows import VALUES, case_of

_X = ArrayArg("x")
_IO = "tensorflow.io."
_S = "tensorflow.strings."
Draw = Callable[[np.random.Generator], Array]


def _image(channels: int, dtype: str = "uint8") -> Draw:
    def draw(rng: np.random.Generator) -> Array:
        shape = (VALUES, int(rng.integers(1, 9)), int(rng.integers(1, 9)), channels)
        return rng.integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)

    return draw


def _sound(rng: np.random.Generator) -> Array:
    """Sixteen bits of sound, as the floats that they stand for."""
    shape = (VALUES, int(rng.integers(1, 30)), int(rng.integers(1, 3)))
    return (rng.integers(-(2**15), 2**15, shape) / 2**15).astype(np.float32)


def _numbers(dtype: str) -> Draw:
    def draw(rng: np.random.Generator) -> Array:
        shape = (VALUES, int(rng.integers(1, 4)), int(rng.integers(1, 5)))
        if dtype.startswith("float"):
            return (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)).astype(dtype)
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, endpoint=True, dtype=dtype)

    return draw


def _codes(rng: np.random.Generator) -> Array:
    """Characters, also beyond the first plane."""
    return rng.choice([65, 97, 228, 8364, 19990, 128512], (VALUES, int(rng.integers(1, 9)))).astype(np.int32)


def _png(channels: int, dtype: str) -> tuple[ApiCall, Draw]:
    encoded = ApiCall(f"{_IO}encode_png", (_X,))
    return ApiCall(f"{_IO}decode_png", (encoded,), {"dtype": DtypeArg(dtype)}), _image(channels, dtype)


def _serialised(dtype: str) -> tuple[ApiCall, Draw]:
    encoded = ApiCall(f"{_IO}serialize_tensor", (_X,))
    return ApiCall(f"{_IO}parse_tensor", (encoded, DtypeArg(dtype))), _numbers(dtype)


def _unicode(form: str) -> tuple[ApiCall, Draw]:
    encoded = ApiCall(f"{_S}unicode_encode", (_X, form))
    return ApiCall(f"{_S}unicode_decode", (encoded, form)), _codes


def _viewed(dtype: str) -> tuple[ApiCall, Draw]:
    there = ApiCall("torch.Tensor.view", (_X, DtypeArg("uint8")))
    return ApiCall("torch.Tensor.view", (there, DtypeArg(dtype))), _numbers(dtype)


def _bitcast(dtype: str) -> tuple[ApiCall, Draw]:
    there = ApiCall("tensorflow.bitcast", (_X, DtypeArg("uint8")))
    return ApiCall("tensorflow.bitcast", (there, DtypeArg(dtype))), _numbers(dtype)


def _jax_bitcast(dtype: str) -> tuple[ApiCall, Draw]:
    there = ApiCall("jax.lax.bitcast_convert_type", (_X, DtypeArg("uint8")))
    return ApiCall("jax.lax.bitcast_convert_type", (there, DtypeArg(dtype))), _numbers(dtype)


_BASE64 = ApiCall(
    f"{_IO}parse_tensor",
    (
        ApiCall(
            f"{_IO}decode_base64",
            (ApiCall(f"{_IO}encode_base64", (ApiCall(f"{_IO}serialize_tensor", (_X,)),)),),
        ),
        DtypeArg("float32"),
    ),
)
_WAV = ApiCall(
    "[]",
    (ApiCall("tensorflow.audio.decode_wav", (ApiCall("tensorflow.audio.encode_wav", (_X, 8000)),)), 0),
)

#: What comes back, and of what.
ROUND_TRIPS: tuple[tuple[ApiCall, Draw], ...] = (
    *(_png(channels, dtype) for channels in (1, 2, 3, 4) for dtype in ("uint8", "uint16")),
    *(_serialised(dtype) for dtype in ("float32", "float64", "int8", "int64", "uint16")),
    (_BASE64, _numbers("float32")),
    (_WAV, _sound),
    *(_unicode(form) for form in ("UTF-8", "UTF-16-BE", "UTF-32-BE")),
    *(_bitcast(dtype) for dtype in ("float32", "int32", "float64")),
    *(_viewed(dtype) for dtype in ("float32", "int64", "float64")),
    *(_jax_bitcast(dtype) for dtype in ("float32", "int32", "float16")),
)
_IDENTITY = {"tensorflow": "tensorflow.identity", "torch": "torch.clone", "jax": "jax.numpy.copy"}


def _library(call: ApiCall) -> str:
    return (
        "torch"
        if call.api.startswith(".")
        else library_of_name(next(c.api for c in call.calls() if c.api[0].isalpha()))
    )


@dataclass(frozen=True)
class EncodeDecode(Equivalence):
    def applies(self, api: str) -> bool:
        return any(api == inner.api for call, _ in ROUND_TRIPS for inner in call.calls())

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 13])
        known = [(call, draw) for call, draw in ROUND_TRIPS if _library(call) == library]
        found = []
        for place in range(count if known else 0):
            call, draw = known[place % len(known)]
            found.append(case_of(call, {"x": draw(rng)}))
        return found

    def counterpart(self, case: Case) -> Counterpart | None:
        known = next((call for call, _ in ROUND_TRIPS if call == case.subject), None)
        return Counterpart(subject=ApiCall(_IDENTITY[_library(known)], (_X,))) if known else None


ENCODE_DECODE = EncodeDecode(
    "encode-decode",
    13,
    Category.INVERSE,
    "decode(encode(I)) = I",
    {"keras": "its backends encode"},
    Demands(agreement=Agreement.BITS),
)
