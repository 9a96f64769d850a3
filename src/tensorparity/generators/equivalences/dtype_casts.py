"""Rule 12, dtype casts: a function of numbers that two types hold exactly, in either of them.

What the wide type answers must fit the narrow one: elements beyond its range are left out. What overflows on the way
counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, dtype_name, dtype_named
from ...core.call import ApiCall, DtypeArg, parts_of
from ...core.case import Case, Counterpart
from ...core.rule import Demands
from .base import Category, Equivalence

_FLOATS = ("float16", "bfloat16", "float32", "float64")
#: Whole numbers up to this size are exact in every type that is compared.
_LARGEST = 100
#: Of float64 and an integer type: large enough for what goes through float32 on the way, and small enough for sums.
_LARGE_EXACT = 2**40


@dataclass(frozen=True)
class DtypeCast(Equivalence):
    """One pair of types."""

    wide: str = "float64"
    narrow: str = "float32"

    def prepared(self, case: Case) -> Case | None:
        """Floating inputs as whole numbers in the wide type."""
        if not isinstance(case.subject, ApiCall) or names_a_dtype(case.subject):
            return None
        names = [name for name, array in case.inputs.items() if dtype_name(array) == "float32"]
        if not names or any(dtype_name(array) in _FLOATS and name not in names for name, array in case.inputs.items()):
            return None
        stacked = case.procedure.rows is not None
        return replace(case, inputs={n: self._whole(a, stacked) if n in names else a for n, a in case.inputs.items()})

    def _whole(self, array: Array, stacked: bool) -> Array:
        """Small whole numbers; of integer types, in every other row large ones as well."""
        whole = small_whole_numbers(array)
        if stacked and "int" in self.narrow:
            whole[1::2] *= _factor(self.narrow)
        if "int" in self.narrow:
            whole = whole + 0.0  # no integer is a negative zero
        return (np.abs(whole) if self.narrow.startswith("u") else whole).astype(dtype_named(self.wide))

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, ApiCall) or names_a_dtype(case.subject):
            return None
        wide = [name for name, array in case.inputs.items() if dtype_name(array) == self.wide]
        narrow = {name: case.inputs[name].astype(dtype_named(self.narrow)) for name in wide}
        exact = all(_is_exact(case.inputs[name], narrow[name].astype(self.wide)) for name in wide)
        if not wide or not exact:
            return None
        return Counterpart(inputs={**case.inputs, **narrow})


def small_whole_numbers(array: Array) -> Array:
    """An array as whole numbers in float64, which every type holds; for NaN 0."""
    with np.errstate(all="ignore"):
        scaled = np.nan_to_num(array.astype(np.float64) * 4, posinf=7.0, neginf=-7.0)
        found: Array = np.clip(np.rint(scaled), -_LARGEST, _LARGEST)
    return found


def _is_exact(given: Array, back: Array) -> bool:
    """Whether every number comes back from the other type, the sign of a zero included."""
    signs = np.signbit(given) == np.signbit(back) if given.dtype.kind == "f" else np.True_
    return bool(((given == back) & signs).all())


def _factor(narrow: str) -> int:
    """What small numbers are multiplied by, so that they fill an integer type; odd, so that no digit is lost."""
    most = min(int(np.iinfo(narrow).max), _LARGE_EXACT) // _LARGEST
    return most if most % 2 else most - 1


def names_a_dtype(call: ApiCall) -> bool:
    """Whether an argument says which type is computed in."""
    values = (value for inner in call.calls() for value in (*inner.args, *inner.kwargs.values()))
    return any(isinstance(part, DtypeArg) for value in values for part in parts_of(value))


def _pair(wide: str, narrow: str) -> DtypeCast:
    absent = {}
    if "64" in wide:
        absent = {"jax": f"{wide} exists behind a switch only", "keras": "most backends narrow 64 bits by design"}
    demands = Demands(dtypes=False, optional=True, narrow=True)
    statement = "F(cast(I, type_X)) = F(cast(I, type_Y))"
    name = f"cast-{narrow}-{wide}"
    return DtypeCast(name, 12, Category.FORMAT, statement, absent, demands, wide=wide, narrow=narrow)


FLOAT32_FLOAT64 = _pair("float64", "float32")
FLOAT16_FLOAT32 = _pair("float32", "float16")
BFLOAT16_FLOAT32 = _pair("float32", "bfloat16")
INT8_INT16 = _pair("int16", "int8")
INT16_INT32 = _pair("int32", "int16")
INT32_INT64 = _pair("int64", "int32")
UINT8_INT32 = _pair("int32", "uint8")
INT64_FLOAT64 = _pair("float64", "int64")
