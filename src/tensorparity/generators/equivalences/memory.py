"""Beyond the paper: the same numbers in other memory. Where elements lie must not matter to what is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from .base import Category, Variant

_ABSENT = {
    "tensorflow": "its tensors are always contiguous",
    "jax": "memory is the compiler's affair",
    "keras": "its tensors are the backend's; torch's are judged as torch's",
}
_STATEMENT = "F(contiguous(I)) = F({}(I))"


def _memory(name: str, variant: str) -> Variant:
    statement = _STATEMENT.format(variant)
    return Variant(name, 0, Category.BEYOND, statement, _ABSENT, derivative=1, variant=variant)


STRIDED = _memory("strided", "strided")
TURNED = _memory("turned", "turned")
SHIFTED = _memory("shifted", "shifted")


@dataclass(frozen=True)
class _ChannelsLast(Variant):
    """Only tensors of four or five axes have that order."""

    def counterpart(self, case: Case) -> Counterpart | None:
        stacked = case.procedure.rows is not None
        if not any(array.ndim - stacked in (4, 5) for array in case.inputs.values()):
            return None
        return super().counterpart(case)


CHANNELS_LAST = _ChannelsLast(
    "channels-last-memory", 0, Category.BEYOND, _STATEMENT.format("channels_last"), _ABSENT, variant="channels_last"
)


@dataclass(frozen=True)
class _Expanded(Variant):
    """An axis expanded from one row: all rows are the same memory."""

    def prepared(self, case: Case) -> Case | None:
        if not isinstance(case.subject, ApiCall):
            return None
        axis = 1 if case.procedure.rows is not None else 0
        inputs = {
            name: np.repeat(array.take([0], axis=axis), array.shape[axis], axis=axis)
            if array.ndim > axis and array.shape[axis] > 1
            else array
            for name, array in case.inputs.items()
        }
        return replace(case, inputs=inputs)

    def counterpart(self, case: Case) -> Counterpart | None:
        axis = 1 if case.procedure.rows is not None else 0
        arrays = [array for array in case.inputs.values() if array.ndim > axis and array.shape[axis] > 1]
        alike = all(_alike(array, axis) for array in arrays)
        return super().counterpart(case) if arrays and alike else None


def _alike(array: np.ndarray, axis: int) -> bool:
    first = array.take([0], axis=axis)
    return bool(((array == first) | ((array != array) & (first != first))).all())


EXPANDED = _Expanded("expanded", 0, Category.BEYOND, _STATEMENT.format("expanded"), _ABSENT, variant="expanded")
