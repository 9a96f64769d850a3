"""Beyond the paper: channels last against channels first, with the axes of the input and of the result turned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case, Counterpart
from ...core.rule import Demands
from .base import Category, Equivalence, library_of_name
from .windows import case_of, draws

X, W = ArrayArg("x"), ArrayArg("w")
_TURN = {"keras": "keras.ops.transpose", "tensorflow": "tensorflow.transpose"}
_N = "tensorflow.nn."
#: By library: functions of a picture, of the size of a window and of strides; and how the formats are called.
_POOLS = {
    "keras": ("keras.ops.max_pool", "keras.ops.average_pool"),
    "tensorflow": (f"{_N}max_pool2d", f"{_N}avg_pool2d"),
}
_FORMATS = {"keras": ("channels_last", "channels_first"), "tensorflow": ("NHWC", "NCHW")}
_SIDE = ("SAME", "VALID")


def _pools(library: str, rng: np.random.Generator) -> Iterator[tuple[ApiCall, dict[str, Array]]]:
    size, stride = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    for name in _POOLS[library]:
        yield ApiCall(name, (X, size, stride, _padding(library, rng))), {"x": draws(rng, _picture(rng, size))}


def _convolutions(library: str, rng: np.random.Generator) -> Iterator[tuple[ApiCall, dict[str, Array]]]:
    size, stride, filters = (int(rng.integers(1, 4)) for _ in range(3))
    shape = _picture(rng, size)
    arrays = {"x": draws(rng, shape), "w": draws(rng, (size, size, shape[-1], filters))}
    padding = _padding(library, rng)
    if library == "tensorflow":
        yield ApiCall(f"{_N}conv2d", (X, W, stride, padding)), arrays
        yield ApiCall(f"{_N}bias_add", (X, ArrayArg("b"))), {"x": arrays["x"], "b": draws(rng, shape[-1:])}
        return
    yield ApiCall("keras.ops.conv", (X, W, stride, padding)), arrays
    yield ApiCall("keras.ops.depthwise_conv", (X, W, stride, padding)), arrays
    wide = {**arrays, "w": draws(rng, (size, size, filters, shape[-1]))}
    yield ApiCall("keras.ops.conv_transpose", (X, W, stride, padding)), wide


def _pictures(library: str, rng: np.random.Generator) -> Iterator[tuple[ApiCall, dict[str, Array]]]:
    if library != "keras":
        return
    shape = (*_picture(rng, 2)[:3], 3)
    arrays: dict[str, Array] = {"x": rng.random((10, *shape)).astype(np.float32)}
    at = "keras.ops.image."
    for how in ("bilinear", "nearest", "bicubic", "lanczos3"):
        yield ApiCall(f"{at}resize", (X, (5, 7)), {"interpolation": how}), arrays
    for name in ("rgb_to_grayscale", "rgb_to_hsv", "hsv_to_rgb"):
        yield ApiCall(at + name, (X,)), arrays
    yield (
        ApiCall(
            f"{at}crop_images", (X,), {"top_cropping": 1, "left_cropping": 0, "target_height": 1, "target_width": 2}
        ),
        arrays,
    )
    yield (
        ApiCall(
            f"{at}pad_images", (X,), {"top_padding": 1, "left_padding": 2, "target_height": 12, "target_width": 12}
        ),
        arrays,
    )
    yield ApiCall(f"{at}gaussian_blur", (X,)), arrays
    yield ApiCall(f"{at}extract_patches", (X, 2)), arrays


def _picture(rng: np.random.Generator, least: int) -> tuple[int, ...]:
    return (
        *(int(rng.integers(1, 3)),),
        int(rng.integers(least, 9)),
        int(rng.integers(least, 9)),
        int(rng.integers(1, 4)),
    )


def _padding(library: str, rng: np.random.Generator) -> str:
    word = _SIDE[int(rng.integers(2))]
    return word.lower() if library == "keras" else word


_NAMES = frozenset(
    call.api
    for library in _FORMATS
    for kind in (_pools, _convolutions, _pictures)
    for call, _ in kind(library, np.random.default_rng(0))
)


@dataclass(frozen=True)
class DataFormat(Equivalence):
    def applies(self, api: str) -> bool:
        return api in _NAMES

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Every function, more than once where more is asked for."""
        rng = np.random.default_rng([seed, 32])
        found: list[Case] = []
        last = {"data_format": _FORMATS[library][0]}
        for _ in range(max(1, count // 4)):
            for kind in (_pools, _convolutions, _pictures):
                for call, arrays in kind(library, rng):
                    found.append(case_of(ApiCall(call.api, call.args, {**call.kwargs, **last}), arrays))
        return found

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or call.api not in _NAMES or call.args[:1] != (X,):
            return None
        library = library_of_name(call.api)
        last, first = _FORMATS[library]
        if call.kwargs.get("data_format") != last or case.inputs["x"].ndim != 4 + (case.procedure.rows is not None):
            return None
        turned: Any = ApiCall(_TURN[library], (X, (0, 3, 1, 2)))
        other = ApiCall(call.api, (turned, *call.args[1:]), {**call.kwargs, "data_format": first})
        return Counterpart(subject=ApiCall(_TURN[library], (other, (0, 2, 3, 1))))


DATA_FORMAT = DataFormat(
    "data-format",
    0,
    Category.BEYOND,
    "F(I, channels_last) = F(I^T, channels_first)^T",
    {"torch": "its tensors are channels first; see channels-last-memory", "jax": "its formats are numbers of axes"},
    Demands(optional=True),
    cost=1,
    derivative=1,
)
