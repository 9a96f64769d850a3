"""A model file turned into another form by a worker, kept in the cache: torch programs become ONNX files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.atomic import replacing
from ..core.case import EXPORTED_ONNX, ModelFile
from ..core.errors import RunError
from ..core.messages import gist
from ..targets.lowering.onnx_export import steps_of
from ..targets.pool import End
from ..targets.runner import LocalRunner, RunnerSettings, open_runner

_EXPORT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported file, and who wrote it (``torch.onnx``)."""

    file: ModelFile
    exporter: str


def export_to_onnx(
    runner: LocalRunner,
    settings: RunnerSettings,
    file: ModelFile,
    exporters: Sequence[str],
    fallback: str,
    cache: Path,
) -> Exported:
    """Have a worker export the file; a planted fault must not get into it.

    Args:
        exporters: targets of the run that can export such files.
        fallback: the target to start for it where none of them is without a fault.

    Raises:
        RunError: if it cannot be exported, with the exporter's reason.
    """
    clean = [target for target in exporters if target not in settings.faults]
    if clean:
        return _export(runner, clean[0], file, cache)
    with open_runner([fallback], replace(settings, faults={})) as other:
        return _export(other, fallback, file, cache)


def _export(runner: LocalRunner, target: str, file: ModelFile, cache: Path) -> Exported:
    circumstances = [file.sha256, runner.desk(target).circumstances]
    key = hashlib.sha256(json.dumps(circumstances).encode()).hexdigest()[:24]
    path, note = cache / "exports" / f"{key}.onnx", cache / "exports" / f"{key}.json"
    if not (path.exists() and note.exists()):
        _make(runner, target, file, path, note)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Exported(ModelFile(str(path.resolve()), sha256, EXPORTED_ONNX), str(json.loads(note.read_text())))


def _make(runner: LocalRunner, target: str, file: ModelFile, path: Path, note: Path) -> None:
    header = {"do": "export", "path": file.path, "sha256": file.sha256, "form": "onnx"}
    reply = runner.ask(target, header, {}, _EXPORT_SECONDS)
    if reply.end is not End.ANSWERED:
        raise RunError(f"exporting it to ONNX failed: {reply.end.value}")
    if reply.header["status"] != "completed":
        failure = reply.header["failure"]
        raise RunError(f"exporting it to ONNX failed: {failure['type']}: {gist(failure['message'])}")
    if "weights:steps" in reply.arrays:
        steps = reply.arrays["weights:steps"].tobytes()
        with replacing(steps_of(path, hashlib.sha256(steps).hexdigest())) as out:
            out.write(steps)
    with replacing(path) as out:
        out.write(reply.arrays["weights:model"].tobytes())
    with replacing(note) as out:
        out.write(json.dumps(reply.header["exporter"]).encode())
