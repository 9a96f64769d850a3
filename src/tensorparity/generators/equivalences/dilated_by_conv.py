"""Rule 6, dilated by conv: a kernel with zeros inserted between its elements, dilated by nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Equivalence, library_of_name
from .windows import W, X, case_of, draws

#: By library: the function, and how its dilation is called; kernels have their spatial axes last, or first.
_FUNCTIONS = {
    "torch": ("torch.nn.functional.conv{}d", "dilation"),
    "tensorflow": ("tensorflow.nn.conv{}d", "dilations"),
    "jax": ("jax.lax.conv_general_dilated", "rhs_dilation"),
    "keras": ("keras.ops.conv", "dilation_rate"),
}
#: With these the axes are elsewhere.
_TURNED = ("data_format", "dimension_numbers")
_LAST = ("torch", "jax")
#: Most spatial axes; TensorFlow has no dilation in three on a CPU.
_MOST = {"torch": 3, "tensorflow": 2, "jax": 3, "keras": 3}


@dataclass(frozen=True)
class DilatedByConv(Equivalence):
    def applies(self, api: str) -> bool:
        return any(api == name.format(n) for name, _ in _FUNCTIONS.values() for n in (1, 2, 3))

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 6])
        return [_draw(library, rng) for _ in range(count)]

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or tuple(call.args) != (X, W):
            return None
        library, rows = library_of_name(call.api), case.procedure.rows is not None
        if not self.applies(call.api) or any(name in call.kwargs for name in _TURNED):
            return None
        name, dims = _FUNCTIONS[library][1], case.inputs["w"].ndim - rows - 2
        rates = call.kwargs.get(name)
        if rates is None or isinstance(rates, int) or set(rates) == {1} or len(rates) != dims:
            return None
        axes = [axis + rows + (2 if library in _LAST else 0) for axis in range(dims)]
        kwargs = {key: value for key, value in call.kwargs.items() if key != name}
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
    api, name = _FUNCTIONS[library]
    dims = int(rng.integers(1, _MOST[library] + 1))
    rates = [int(rng.integers(1, 4)) for _ in range(dims)]
    rates[int(rng.integers(dims))] = int(rng.integers(2, 4))
    kernel = [int(rng.integers(1, 4)) for _ in range(dims)]
    image = [(k - 1) * rate + 1 + int(rng.integers(0, 5)) for k, rate in zip(kernel, rates, strict=True)]
    batch, channels, filters = (int(rng.integers(1, 4)) for _ in range(3))
    groups = int(rng.integers(1, 3)) if library == "torch" else 1
    if library in _LAST:
        shape = (filters * groups, channels, *kernel)
        inputs = {"x": draws(rng, (batch, channels * groups, *image)), "w": draws(rng, shape)}
    else:
        inputs = {"x": draws(rng, (batch, *image, channels)), "w": draws(rng, (*kernel, channels, filters))}
    more: dict[str, dict[str, object]] = {
        "torch": {"padding": int(rng.integers(0, 3)), "stride": int(rng.integers(1, 3)), "groups": groups},
        "tensorflow": {"stride" if dims == 1 else "strides": 1, "padding": ("SAME", "VALID")[int(rng.integers(2))]},
        "jax": {"window_strides": [int(rng.integers(1, 3))] * dims, "padding": ("SAME", "VALID")[int(rng.integers(2))]},
        "keras": {"padding": ("same", "valid")[int(rng.integers(2))]},
    }
    return case_of(ApiCall(api.format(dims), (X, W), {name: rates, **more[library]}), inputs)


#: Of first order alone: what is pulled back a second time goes through the zeros as well, which have gradients too.
DILATED_BY_CONV = DilatedByConv(
    "dilated-by-conv", 6, Category.REDUNDANCY, "implement(dilated, conv)(I) = dilated(I)", derivative=1
)
