"""Inputs of two types: a function that converts them by itself answers as if they had been converted before.

Every other row holds whole numbers that the common type does not: what is made of them in numbers is rounded, but
whether one of them equals another is decided after the conversion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array, dtype_name, dtype_named
from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from ...core.rule import Demands
from .base import Category, Equivalence
from .dtype_casts import names_a_dtype, small_whole_numbers

_ABSENT = {"tensorflow": "its functions convert no types by themselves"}


@dataclass(frozen=True)
class Promotion(Equivalence):
    """One pair of types.

    Args:
        first: of the first floating input; ``others`` of all others.
        common: into which both are converted, by the documented table of promotion.
        beyond: the smallest whole number of ``first`` from which on ``common`` does not hold all; 0 where it does.
    """

    first: str = "int32"
    others: str = "float16"
    common: str = "float16"
    beyond: int = 0

    def prepared(self, case: Case) -> Case | None:
        if not isinstance(case.subject, ApiCall) or names_a_dtype(case.subject):
            return None
        stacked = case.procedure.rows is not None
        names = [name for name, array in case.inputs.items() if dtype_name(array) == "float32"]
        # a scalar does not take part in promotion as an array does
        if len(names) < 2 or any(case.inputs[name].ndim <= stacked for name in names):
            return None
        made = {name: self._made(case.inputs[name], name == names[0], stacked) for name in names}
        return replace(case, inputs={**case.inputs, **made})

    def _made(self, array: Array, is_first: bool, stacked: bool) -> Array:
        whole = small_whole_numbers(array)
        if is_first and stacked and self.beyond:
            whole[1::2] = self.beyond + np.abs(whole[1::2])
        dtype = self.first if is_first else self.others
        return (np.abs(whole) if dtype.startswith("u") else whole).astype(dtype_named(dtype))

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, ApiCall) or names_a_dtype(case.subject):
            return None
        names = [name for name, array in case.inputs.items() if dtype_name(array) in (self.first, self.others)]
        if {dtype_name(case.inputs[name]) for name in names} != {self.first, self.others}:
            return None
        converted = {name: case.inputs[name].astype(dtype_named(self.common)) for name in names}
        return Counterpart(inputs={**case.inputs, **converted})


def _pair(first: str, others: str, common: str, beyond: int = 0, **absent: str) -> Promotion:
    demands = Demands(dtypes=False, optional=True, narrow=True, accused=0 if "float" in common else None)
    statement = "F(I_X, J_Y) = F(cast(I, common), cast(J, common))"
    name = f"promoted-{first}-{others}"
    return Promotion(
        name,
        0,
        Category.BEYOND,
        statement,
        {**_ABSENT, **absent},
        demands,
        first=first,
        others=others,
        common=common,
        beyond=beyond,
    )


INT32_FLOAT16 = _pair("int32", "float16", "float16", 2**12)
INT64_FLOAT32 = _pair(
    "int64",
    "float32",
    "float32",
    2**25,
    jax="int64 exists behind a switch only",
    keras="most backends narrow 64 bits by design",
)
UINT8_INT8 = _pair("uint8", "int8", "int16")
FLOAT16_BFLOAT16 = _pair("float16", "bfloat16", "float32")
