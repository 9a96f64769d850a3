"""Rule 4, depthwise by conv: every channel convolved alone, and the results put side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Equivalence
from .windows import W, X, case_of, draws, shape_of

_TORCH, _TF, _KERAS = "torch.nn.functional.conv2d", "tensorflow.nn.depthwise_conv2d", "keras.ops.depthwise_conv"
_JAX = "jax.lax.conv_general_dilated"


@dataclass(frozen=True)
class DepthwiseByConv(Equivalence):
    def applies(self, api: str) -> bool:
        return api in (_TORCH, _TF, _KERAS, _JAX)

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 4])
        return [_draw(library, rng) for _ in range(count)]

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or len(call.args) < 2 or X not in call.args or W not in call.args:
            return None
        x, w = shape_of(case, "x"), shape_of(case, "w")
        if len(x) != 4 or len(w) != 4:
            return None
        if call.api in (_TORCH, _JAX):
            return _channels_first(call, x, w)
        return _channels_last(call, x)


def _draw(library: str, rng: np.random.Generator) -> Case:
    channels, times, batch = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    kernel = [int(rng.integers(1, 4)) for _ in range(2)]
    stride = int(rng.integers(1, 3))
    image = [int(rng.integers(k, 8)) for k in kernel]
    if library in ("torch", "jax"):
        inputs = {"x": draws(rng, (batch, channels, *image)), "w": draws(rng, (channels * times, 1, *kernel))}
        if library == "torch":
            return case_of(ApiCall(_TORCH, (X, W), {"stride": stride, "groups": channels}), inputs)
        kwargs = {"window_strides": [stride] * 2, "padding": "SAME", "feature_group_count": channels}
        return case_of(ApiCall(_JAX, (X, W), kwargs), inputs)
    inputs = {"x": draws(rng, (batch, *image, channels)), "w": draws(rng, (*kernel, channels, times))}
    if library == "tensorflow":
        kwargs = {"strides": [1, stride, stride, 1], "padding": ("SAME", "VALID")[int(rng.integers(2))]}
        return case_of(ApiCall(_TF, (X, W), kwargs), inputs)
    kwargs = {"strides": stride, "padding": ("same", "valid")[int(rng.integers(2))]}
    return case_of(ApiCall(_KERAS, (X, W), kwargs), inputs)


def _channels_first(call: ApiCall, x: tuple[int, ...], w: tuple[int, ...]) -> Counterpart | None:
    group = "groups" if call.api == _TORCH else "feature_group_count"
    channels = x[1]
    if call.kwargs.get(group) != channels or w[1] != 1 or len(call.args) > 2 or w[0] % channels:
        return None
    times = w[0] // channels
    kwargs = {name: value for name, value in call.kwargs.items() if name != group}
    pieces = []
    for channel in range(channels):
        one = ApiCall("[]", (X, (_all(), slice(channel, channel + 1, None))))
        kernel = ApiCall("[]", (W, (slice(channel * times, (channel + 1) * times, None),)))
        pieces.append(ApiCall(call.api, (one, kernel), kwargs))
    join = "torch.cat" if call.api == _TORCH else "jax.numpy.concatenate"
    return Counterpart(subject=ApiCall(join, (pieces, 1)))


def _channels_last(call: ApiCall, x: tuple[int, ...]) -> Counterpart:
    conv, join = ("tensorflow.nn.conv2d", "tensorflow.concat") if call.api == _TF else ("keras.ops.conv", "")
    pieces: list[Any] = []
    for channel in range(x[3]):
        part = slice(channel, channel + 1, None)
        one = ApiCall("[]", (X, (_all(), _all(), _all(), part)))
        kernel = ApiCall("[]", (W, (_all(), _all(), part)))
        pieces.append(ApiCall(conv, (one, kernel), dict(call.kwargs)))
    joined = ApiCall(join or "keras.ops.concatenate", (pieces, 3))
    return Counterpart(subject=joined)


def _all() -> slice:
    return slice(None, None, None)


DEPTHWISE_BY_CONV = DepthwiseByConv(
    "depthwise-by-conv", 4, Category.REDUNDANCY, "implement(depthwise, conv2d)(I) = depthwise(I)", derivative=2
)
