"""Rule 5, separable by depthwise: a depthwise convolution, and one of size 1 behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.call import ApiCall, ArrayArg
from ...core.case import Case, Counterpart
from .base import Category, Equivalence
from .windows import X, case_of, draws

_D, _P = ArrayArg("depthwise"), ArrayArg("pointwise")
_TF, _KERAS = "tensorflow.nn.separable_conv2d", "keras.ops.separable_conv"


@dataclass(frozen=True)
class SeparableByDepthwise(Equivalence):
    def applies(self, api: str) -> bool:
        return api in (_TF, _KERAS)

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 5])
        return [_draw(library, rng) for _ in range(count)]

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or tuple(call.args) != (X, _D, _P):
            return None
        if call.api == _TF:
            depthwise = ApiCall("tensorflow.nn.depthwise_conv2d", (X, _D), dict(call.kwargs))
            kwargs = {"strides": 1, "padding": "VALID"}
            return Counterpart(subject=ApiCall("tensorflow.nn.conv2d", (depthwise, _P), kwargs))
        depthwise = ApiCall("keras.ops.depthwise_conv", (X, _D), dict(call.kwargs))
        return Counterpart(subject=ApiCall("keras.ops.conv", (depthwise, _P), {"strides": 1, "padding": "valid"}))


def _draw(library: str, rng: np.random.Generator) -> Case:
    channels, times, filters, batch = (int(rng.integers(1, 4)) for _ in range(4))
    kernel = [int(rng.integers(1, 4)) for _ in range(2)]
    image = [int(rng.integers(k, 8)) for k in kernel]
    stride = int(rng.integers(1, 3))
    inputs = {
        "x": draws(rng, (batch, *image, channels)),
        "depthwise": draws(rng, (*kernel, channels, times)),
        "pointwise": draws(rng, (1, 1, channels * times, filters)),
    }
    same = int(rng.integers(2))
    if library == "tensorflow":
        kwargs = {"strides": [1, stride, stride, 1], "padding": ("VALID", "SAME")[same]}
        return case_of(ApiCall(_TF, (X, _D, _P), kwargs), inputs)
    return case_of(ApiCall(_KERAS, (X, _D, _P), {"strides": stride, "padding": ("valid", "same")[same]}), inputs)


SEPARABLE_BY_DEPTHWISE = SeparableByDepthwise(
    "separable-by-depthwise",
    5,
    Category.REDUNDANCY,
    "implement(separable, depthwise)(I) = separable(I)",
    {"torch": "it has no separable convolution", "jax": "it has no separable convolution"},
    derivative=2,
)
