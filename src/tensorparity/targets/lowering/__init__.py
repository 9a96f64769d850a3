"""Lowering: a LayerGraph or a model file turned into the form a runtime takes, for targets that take no layers."""

from __future__ import annotations

from ...core.arrays import Array
from ...core.case import EXPORTED_ONNX, ApiCall, Case, ModelFile
from ...core.jsontext import Json


def lower(form: str | None, case: Case, calls: str = "") -> tuple[Json, dict[str, Array]] | str | None:
    """The subject and arrays to send instead of the case's own, or the reason why there are none.

    None where the target takes the case as it is.

    Args:
        calls: the library that answers for operators.
    """
    if isinstance(case.subject, ApiCall) and calls:
        from .calls import lower_call

        return lower_call(calls, case)
    if form is None:
        return None
    if form == "onnx":
        if case.procedure.population:
            return "its weights are part of a file, so that each individual of a population would be another file"
        from .onnx import lower_to_onnx
        from .onnx_export import lower_exported
        from .onnx_file import lower_onnx_file

        if isinstance(case.subject, ModelFile) and case.subject.format == "onnx":
            return lower_onnx_file(case)
        if isinstance(case.subject, ModelFile) and case.subject.format == EXPORTED_ONNX:
            return lower_exported(case)
        return lower_to_onnx(case)
    if form == "torch":
        from .pytorch import lower_to_torch

        return None if isinstance(case.subject, ModelFile) else lower_to_torch(case)
    raise ValueError(f"no lowering to {form!r}")
