"""Who writes a case down as users of a target would: a table by the name in the traits, or somebody else's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...core.arrays import dtype_name
from ...core.case import ApiCall, Case
from ...core.graph import LayerGraph
from ...core.registry import resolve
from ...core.traits import TargetTraits
from ...operators.functions.catalogue import operator_of
from ...targets.lowering import lower
from ...targets.names import parse_target
from .attachments import AttachmentFolder
from .calls import composed_parts, native_parts, torch_parts
from .claim import Claim
from .file_scripts import FileScript, keras_file_parts, onnx_file_parts, torch_file_parts
from .keras_scripts import keras_parts
from .literals import Unprintable, is_known
from .onnx_scripts import onnx_parts
from .operator_scripts import operator_parts
from .script import ScriptParts
from .torch_scripts import torch_graph_parts


@dataclass(frozen=True)
class ScriptRequest:
    """What a script writer is asked for.

    Args:
        target: by its full name; ``traits`` are its own.
        claim: what is expected of it; None where it is only about how the call ends.
        watched: the script runs itself as a child process and looks how that ends.
    """

    case: Case
    target: str
    traits: TargetTraits
    claim: Claim | None = None
    watched: bool = False

    @property
    def flavour(self) -> str:
        return parse_target(self.target).flavour


#: Raises ``Unprintable`` where the case takes too many words: its script replays the case file then.
ScriptWriter = Callable[[ScriptRequest], ScriptParts]
_FileWriter = Callable[[ScriptRequest, FileScript, AttachmentFolder], ScriptParts]


def is_foreign(traits: TargetTraits) -> bool:
    """Whether its scripts are written by somebody else's function."""
    return ":" in traits.script_writer


def write_parts(request: ScriptRequest) -> ScriptParts:
    """The lines that compute what is claimed.

    Raises:
        Unprintable: if they cannot be written in a few lines.
    """
    if is_foreign(request.traits):
        return _foreign_parts(request)
    claim, case, library = request.claim, request.case, request.traits.calls
    layers = request.traits.script_writer == "keras" and isinstance(case.subject, LayerGraph)
    if claim and claim.dtype and not is_known(claim.dtype) and not layers:  # elsewhere answers are cast for NumPy
        raise Unprintable(f"NumPy has no {claim.dtype} to tell it from others")
    if isinstance(case.subject, ApiCall) and operator_of(case.subject.api) and library != "onnx":
        return operator_parts(case, library, request.flavour, watched=request.watched)
    composed = composed_parts(case, library, request.flavour, watched=request.watched)
    return composed or WRITERS[request.traits.script_writer](request)


def write_file_parts(request: ScriptRequest, how: FileScript, desktop: AttachmentFolder) -> ScriptParts:
    """The same of a model file that stands beside the script; the files are left in ``desktop``.

    Raises:
        Unprintable: if they cannot be written in a few lines.
    """
    if is_foreign(request.traits):
        return _foreign_parts(request)
    return FILE_WRITERS[request.traits.script_writer](request, how, desktop)


def _foreign_parts(request: ScriptRequest) -> ScriptParts:
    """What somebody else's function writes; whatever goes wrong there is a reason to replay the case file."""
    path = request.traits.script_writer
    try:
        parts = resolve("script writer", request.traits.name, path)(request)
    except Unprintable:
        raise
    except Exception as error:
        raise Unprintable(f"{path} ended with {type(error).__name__}: {error}") from error
    if not isinstance(parts, ScriptParts):
        raise Unprintable(f"{path} wrote no ScriptParts")
    return parts


# Ours


def _keras(request: ScriptRequest) -> ScriptParts:
    return keras_parts(request.case, request.flavour, request.claim, watched=request.watched)


def _torch(request: ScriptRequest) -> ScriptParts:
    if not isinstance(request.case.subject, LayerGraph):
        return torch_parts(request.case, request.flavour, request.claim, watched=request.watched)
    program = lower("torch", request.case, "torch")
    if not isinstance(program, tuple):
        raise Unprintable(program or "the case has no program")
    return torch_graph_parts(*program, request.flavour, request.claim, watched=request.watched)


def _native(request: ScriptRequest) -> ScriptParts:
    """A call of a library as its users write it; what is compiled has no script of its own."""
    if isinstance(request.case.subject, ApiCall) and request.flavour == "eager":
        return native_parts(request.case, request.traits.calls, request.claim, watched=request.watched)
    raise Unprintable("only calls run eagerly are written down for this target")


def _onnx(request: ScriptRequest) -> ScriptParts:
    lowered = lower("onnx", request.case, "onnx")
    if not isinstance(lowered, tuple):
        raise Unprintable(lowered or "the case has no ONNX model")
    subject, arrays = lowered
    claim = request.claim
    dtype = dtype_name(claim.observed) if claim and claim.observed is not None else "float32"
    base = parse_target(request.target).base
    return onnx_parts(base, subject, arrays, claim.name if claim else "", dtype, watched=request.watched)


#: By the name in the traits of a target.
WRITERS: Mapping[str, ScriptWriter] = {"keras": _keras, "torch": _torch, "operator": _native, "onnx": _onnx}


def _keras_file(request: ScriptRequest, how: FileScript, desktop: AttachmentFolder) -> ScriptParts:
    return keras_file_parts(request.case, request.flavour, how, desktop)


def _torch_file(request: ScriptRequest, how: FileScript, desktop: AttachmentFolder) -> ScriptParts:
    return torch_file_parts(request.case, request.flavour, how, desktop)


def _onnx_file(request: ScriptRequest, how: FileScript, desktop: AttachmentFolder) -> ScriptParts:
    try:
        return _onnx(request)  # a node or two can be written down
    except Unprintable:
        lowered = lower("onnx", request.case, "onnx")
        if not isinstance(lowered, tuple):
            raise
        return onnx_file_parts(parse_target(request.target).base, *lowered, how, desktop)


def _no_file(request: ScriptRequest, how: FileScript, desktop: AttachmentFolder) -> ScriptParts:
    raise Unprintable("this target reads no model files")


FILE_WRITERS: Mapping[str, _FileWriter] = {
    "keras": _keras_file,
    "torch": _torch_file,
    "operator": _no_file,
    "onnx": _onnx_file,
}
