"""Rule 6, dilated by conv: a kernel with zeros inserted between its elements, dilated by nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Equivalence
from .windows import W, X, case_of, draws

#: By library: the function, how its dilation is called, and where the spatial axes of its kernels are.
_FUNCTIONS = {
    "torch": ("torch.nn.functional.conv2d", "dilation", (2, 3)),
    "tensorflow": ("tensorflow.nn.conv2d", "dilations", (0, 1)),
    "jax": ("jax.lax.conv_general_dilated", "rhs_dilation", (2, 3)),
    "keras": ("keras.ops.conv", "dilation_rate", (0, 1)),
}


@dataclass(frozen=True)
class DilatedByConv(Equivalence):
    def applies(self, api: str) -> bool:
        return any(api == name for name, _, _ in _FUNCTIONS.values())

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 6])
        return [_draw(library, rng) for _ in range(count)]

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or tuple(call.args) != (X, W):
            return None
        found = next((item for item in _FUNCTIONS.values() if item[0] == call.api), None)
        rates = call.kwargs.get(found[1]) if found else None
        if found is None or rates is None or isinstance(rates, int) or set(rates) == {1}:
            return None
        rows = case.procedure.rows is not None
        axes = [axis + rows for axis in found[2]]
        kwargs = {name: value for name, value in call.kwargs.items() if name != found[1]}
        inputs = {**case.inputs, "w": _with_zeros(case.inputs["w"], axes, rates)}
        return Counterpart(subject=ApiCall(call.api, call.args, kwargs), inputs=inputs)


def _with_zeros(kernel: Array, axes: Sequence[int], rates: Sequence[int]) -> Array:
    shape, places = list(kernel.shape), [slice(None)] * kernel.ndim
    for axis, rate in zip(axes, rates, strict=True):
        shape[axis] = (kernel.shape[axis] - 1) * rate + 1
        places[axis] = slice(None, None, rate)
    wide = np.zeros(shape, kernel.dtype)
    wide[tuple(places)] = kernel
    return wide


def _draw(library: str, rng: np.random.Generator) -> Case:
    api, name, _ = _FUNCTIONS[library]
    rates = [int(rng.integers(1, 4)) for _ in range(2)]
    rates[int(rng.integers(2))] = int(rng.integers(2, 4))
    kernel = [int(rng.integers(1, 4)) for _ in range(2)]
    image = [(k - 1) * rate + 1 + int(rng.integers(0, 5)) for k, rate in zip(kernel, rates, strict=True)]
    batch, channels, filters = (int(rng.integers(1, 4)) for _ in range(3))
    if library in ("torch", "jax"):
        inputs = {"x": draws(rng, (batch, channels, *image)), "w": draws(rng, (filters, channels, *kernel))}
    else:
        inputs = {"x": draws(rng, (batch, *image, channels)), "w": draws(rng, (*kernel, channels, filters))}
    more: dict[str, dict[str, object]] = {
        "torch": {"padding": int(rng.integers(0, 3)), "stride": int(rng.integers(1, 3))},
        "tensorflow": {"strides": 1, "padding": ("SAME", "VALID")[int(rng.integers(2))]},
        "jax": {"window_strides": [int(rng.integers(1, 3))] * 2, "padding": ("SAME", "VALID")[int(rng.integers(2))]},
        "keras": {"padding": ("same", "valid")[int(rng.integers(2))]},
    }
    return case_of(ApiCall(api, (X, W), {name: rates, **more[library]}), inputs)


DILATED_BY_CONV = DilatedByConv(
    "dilated-by-conv", 6, Category.REDUNDANCY, "implement(dilated, conv2d)(I) = dilated(I)", derivative=1
)
