"""Reading the layers of a model file: a case like any other, answered by the library that reads such files.

The layers of an ONNX file stand in the file itself, so the host reads them and asks nobody.
"""

from __future__ import annotations

from pathlib import Path

from ..core.case import Case, ModelFile
from ..core.errors import TensorParityError
from ..core.onnx.files import read_onnx
from ..core.onnx.layers import OnnxLayers
from ..core.onnx.model import parse_model
from ..core.onnx.wire import WireError
from ..core.outcome import Outcome, Status
from .replies import unsupported_outcome
from .requests import Request

_SECONDS = 300.0


def reading_request(case: Case, target: str, *, trust: bool, deadline_factor: float) -> Request | Outcome:
    """What has a target read the file of a case; or the outcome, where it need not be asked."""
    file = case.subject
    if not isinstance(file, ModelFile):
        return unsupported_outcome(target, "only the layers of a model file can be read")
    if file.format == "onnx":
        return _read_here(file, target)
    header = {"do": "import", "path": file.path, "sha256": file.sha256, "trust": trust}
    return Request(target, header, {}, _SECONDS * deadline_factor)


def _read_here(file: ModelFile, target: str) -> Outcome:
    path = Path(file.path)
    try:
        content = read_onnx(path)
        if content.sha256 != file.sha256:
            return unsupported_outcome(target, f"the file has changed since it was inspected: {path.name}")
        graph = OnnxLayers(parse_model(content.data).graph).graph(path.stem)
    except (TensorParityError, WireError) as error:
        return unsupported_outcome(target, str(error), type(error).__name__)
    return Outcome(target, Status.COMPLETED, reply={"graph": graph.to_json()})
