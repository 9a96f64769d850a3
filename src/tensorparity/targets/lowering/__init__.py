"""Lowering: a LayerGraph turned into the form a runtime takes, for targets that take no layers."""

from __future__ import annotations

from ...core.arrays import Array
from ...core.case import Case
from ...core.jsontext import Json


def lower(form: str, case: Case) -> tuple[Json, dict[str, Array]] | str:
    """The subject and arrays to send instead of the case's own, or the reason why there are none."""
    if form == "onnx":
        from .onnx import lower_to_onnx

        return lower_to_onnx(case)
    raise ValueError(f"no lowering to {form!r}")
