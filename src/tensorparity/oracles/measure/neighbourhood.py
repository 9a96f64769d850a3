"""What a call may answer, seen from a run in float64 on inputs that are moved by as much as rounding moves them.

Nobody has a formula of most functions. A float64 run of the same function gives the value; runs on inputs moved by one
and by sixteen roundoffs say how far rounding may take it. Where the answer moves in proportion, the function is smooth
there and some multiple is allowed; where it jumps, everything between the values on both sides is right (ties, kinks,
halves that are rounded), and nothing beyond them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ...core.arrays import Array, dtype_name, dtype_named, is_floating, unit_roundoff
from ...core.call import ApiCall, DtypeArg, TupleArg
from ...core.case import Case
from ...operators.reference.rounding import K

#: By so many roundoffs inputs are moved, and how often each.
STEPS, TIMES = (1.0, 16.0), 6
#: How much further rounding on the way may take an answer than moving the inputs does.
_ON_THE_WAY = 8.0
#: Moving inputs 16 times further moves a smooth answer that much further at least.
_SMOOTH = 4.0
_WIDE = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


def in_float64(case: Case, seed: int = 0, computed_in: str = "") -> Case | None:
    """A call in float64 on one input, and on the same moved; None where it has no floating input of fewer digits.

    Args:
        computed_in: the dtype in which the answers that are judged were computed, whatever dtype the inputs have here:
            whole numbers are exact, and what is made of them in float32 is not.
    """
    assert isinstance(case.subject, ApiCall)
    moving = {*_WIDE, "float64", "complex128"} if computed_in else set(_WIDE)
    names = [name for name, array in case.inputs.items() if dtype_name(array) in moving]
    if not names:
        return None
    moved = [dict(case.inputs), *_moved(case, names, np.random.default_rng(seed), computed_in)]
    inputs: dict[str, Array] = {}
    for name, array in case.inputs.items():
        wide = dtype_named(_WIDE.get(dtype_name(array), dtype_name(array)))
        inputs[name] = np.stack([np.asarray(one[name]).astype(wide) for one in moved])
    procedure = replace(case.procedure, dtype="float64", rows=len(moved))
    return replace(case, subject=_widened(case.subject), procedure=procedure, inputs=inputs, counterpart=None)


def _moved(case: Case, names: Sequence[str], rng: np.random.Generator, dtype: str) -> list[dict[str, Array]]:
    """Every move is made in both directions: what jumps at the input itself shows both of its sides."""
    found = []
    for step in STEPS:
        for _ in range(TIMES // 2):
            signs = {name: _signs(case.inputs[name].shape, rng) for name in names}
            for way in (1.0, -1.0):
                moved = {name: _shaken(case.inputs[name], step, way * signs[name], dtype) for name in names}
                found.append({**case.inputs, **moved})
    return found


def _signs(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return rng.choice([-1.0, 1.0], size=shape) * rng.uniform(0.5, 1.0, size=shape)


def _shaken(array: Array, step: float, signs: Array, dtype: str) -> Array:
    unit = step * unit_roundoff(dtype or dtype_name(array))
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    size = np.abs(wide)
    scale = float(size[np.isfinite(size)].max(initial=0.0)) or 1.0
    with np.errstate(all="ignore"):
        moved: Array = np.where(wide == 0, signs * unit * scale, wide * (1.0 + unit * signs))
    return moved


def _widened(value: Any) -> Any:
    """A call whose arguments name no narrow dtype any more."""
    if isinstance(value, DtypeArg):
        return DtypeArg(_WIDE.get(value.name, value.name))
    if isinstance(value, ApiCall):
        kwargs = {name: _widened(item) for name, item in value.kwargs.items()}
        return ApiCall(value.api, tuple(map(_widened, value.args)), kwargs)
    if isinstance(value, TupleArg):
        return TupleArg(tuple(map(_widened, value.items)))
    if isinstance(value, (list, tuple)):
        return tuple(map(_widened, value))
    if isinstance(value, Mapping):
        return {name: _widened(item) for name, item in value.items()}
    return value


@dataclass(frozen=True)
class Neighbourhood:
    """All that one output may be: by element the lowest and the highest, and whether NaN is among it."""

    low: Array
    high: Array
    nan: Array
    exact: Array

    def allowed(self, given: Array) -> float:
        """How far from the true value rounding may take that element of an answer which lies furthest outside."""
        with np.errstate(all="ignore"):
            reach = np.fmax(self.high - self.exact, self.exact - self.low).ravel()
        place = int(np.argmax(self.excess(given).ravel())) if reach.size else 0
        return float(reach[place]) if reach.size and np.isfinite(reach[place]) else 0.0

    def excess(self, given: Array) -> Array:
        """Elementwise, how far an answer lies outside of what is allowed; infinite where NaN stands in its place."""
        parts = _parts(given)
        with np.errstate(all="ignore"):
            out = np.maximum(self.low - parts, parts - self.high)
            inside = (parts >= self.low) & (parts <= self.high)
        far = np.where(np.isnan(parts), np.where(self.nan, 0.0, np.inf), np.where(inside, 0.0, out))
        far = np.where(np.isnan(far), np.where(self.nan, 0.0, np.inf), far)
        # where the true value is NaN, everything but NaN is wrong, unless a neighbour is a number
        return np.where(np.isnan(self.low) & ~np.isnan(parts), np.inf, far)


def _parts(array: Array) -> Array:
    if array.dtype.kind == "c":
        wide = array.astype(np.complex128)
        return np.stack([wide.real, wide.imag], axis=-1)
    return array.astype(np.float64)


def neighbourhood(values: Sequence[Array], dtype: str) -> Neighbourhood | None:
    """What an output may be, by its values in float64 on the input and on moved ones; None where these differ in form.

    Args:
        dtype: of the answers that are judged.
    """
    if len({value.shape for value in values}) != 1 or values[0].dtype.kind in "USO":
        return None
    parts = np.stack([_parts(value) for value in values])
    near, all_of_them = parts[: 1 + TIMES], parts
    with np.errstate(all="ignore"):
        low, high = np.fmin.reduce(near), np.fmax.reduce(near)
        width = high - low
        wider = np.fmax.reduce(all_of_them) - np.fmin.reduce(all_of_them)
        smooth = (wider > _SMOOTH * width) | (width == 0)
        size = np.fmax(np.abs(low), np.abs(high))
        finite = size[np.isfinite(size)]
        unit = unit_roundoff(dtype)
        allowed = K * unit * size + unit * float(finite.max(initial=0.0)) + np.where(smooth, _ON_THE_WAY * width, 0.0)
        allowed = np.where(np.isfinite(allowed), allowed, 0.0)
        low, high = low - allowed, high + allowed
    low, high = _within_range(low, high, dtype)
    return Neighbourhood(low, high, np.isnan(parts).any(axis=0), parts[0])


def _within_range(low: Array, high: Array, dtype: str) -> tuple[Array, Array]:
    """What leaves the range of the dtype may be infinite; what vanishes below it may be zero."""
    if not is_floating(dtype):
        return low, high
    info: Any = ml_dtypes.finfo(dtype_named({"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)))  # type: ignore[no-untyped-call]
    largest, tiny = float(info.max), float(info.smallest_normal)
    margin = largest * (1.0 - 2.0**-8)
    high = np.where(high >= margin, np.inf, high)
    low = np.where(low <= -margin, -np.inf, np.minimum(low, margin))
    high = np.maximum(high, np.where(high < -margin, -margin, high))
    high = np.where(np.abs(high) < tiny, tiny, high)
    low = np.where(np.abs(low) < tiny, -tiny, low)
    return low, high
