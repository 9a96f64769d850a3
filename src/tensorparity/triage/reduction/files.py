"""A model file stays what it is: only its batch can shrink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...core.arrays import Array
from ...core.case import Case, ModelFile
from .reducer import Attempts


def smallest_batch(attempts: Attempts) -> None:
    """One instance, else a half; where the model takes another batch than its own, it says so itself."""
    if not isinstance(attempts.case.subject, ModelFile):
        return
    while True:
        size = _batch(attempts.case)
        sizes = [cap for cap in dict.fromkeys((1, size // 2)) if 0 < cap < size]
        if not sizes or not attempts.first(_with_batch(attempts.case, cap) for cap in sizes):
            return


def _batch(case: Case) -> int:
    """The common length of all arrays, as far as they have one."""
    lengths = {len(array) for array in case.arrays().values() if array.ndim}
    return lengths.pop() if len(lengths) == 1 else 0


def _with_batch(case: Case, size: int) -> Case:
    def short(arrays: Mapping[str, Array]) -> dict[str, Array]:
        return {name: array[:size] for name, array in arrays.items()}

    return replace(case, inputs=short(case.inputs), labels=short(case.labels), cotangents=short(case.cotangents))
