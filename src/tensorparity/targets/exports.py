"""A model file turned into another form by a worker, kept in the cache: ONNX files of Keras' and torch's models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.atomic import replacing_file
from ..core.case import EXPORTED_ONNX, Case, ModelFile
from ..core.errors import RunError, TensorParityError
from ..core.jsontext import Json
from ..core.messages import gist
from .catalogue import TARGETS, TargetSpec, spec_of, traits_of
from .environments import find_environment, inventory
from .lowering.onnx_export import steps_of
from .names import parse_target
from .requests import End
from .runner import LocalRunner, RunnerSettings, open_runner

_EXPORT_SECONDS = 600.0
#: Characters of what an exporter says; torch's tells paths and scopes after that.
_MESSAGE = 160


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported file, which says who wrote it (``torch.onnx``).

    Args:
        layers: how many of the model's layers can be traced in it, run alone in it, and are there in all.
    """

    file: ModelFile
    layers: tuple[int, int, int] = (0, 0, 0)

    @property
    def exporter(self) -> str:
        return self.file.exporter

    def __str__(self) -> str:
        traced, alone, count = self.layers
        return f"exported to ONNX by {self.exporter}; {_of(traced, alone, count)}"


def _of(traced: int, alone: int, count: int) -> str:
    if traced == alone == count:
        return f"all {count} layers can be compared in the file"
    beside = "" if alone == traced else f", {alone} of them alone"
    return f"{traced} of {count} layers can be compared in the file{beside}"


def export_keras(
    runner: LocalRunner, settings: RunnerSettings, file: ModelFile, targets: Sequence[str], cache: Path
) -> tuple[Exported | None, list[str]]:
    """The file by the first of Keras' exporters that is installed and succeeds, and why others did not."""
    problems: list[str] = []
    for spec in _exporters_of(file):
        base, needs = spec.name, spec.traits.exporters["onnx"]
        own = [target for target in targets if parse_target(target).base == base]
        missing = _missing_distributions(own[0] if own else base, needs, settings)
        if missing:
            problems.append(f"{base} exports to ONNX with {', '.join(missing)}, not installed")
            continue
        try:
            return export_to_onnx(runner, settings, file, own, base, cache), problems
        except TensorParityError as error:
            problems.append(f"{base}: {error}")
    return None, problems


@dataclass(frozen=True)
class ExportedCases:
    """One case as each target is given it.

    Args:
        cases: by target; about the exported file where a runtime does not read the original.
        exporters: by target, who wrote that file.
        notes: why there is none.
    """

    cases: Mapping[str, Case]
    exporters: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def exported_cases(runner: LocalRunner, settings: RunnerSettings, case: Case, cache: Path) -> ExportedCases:
    """The case for all targets of the runner: a model file is exported for the runtimes among them."""
    cases = dict.fromkeys(runner.targets, case)
    runtimes = [target for target in cases if spec_of(parse_target(target)).traits.lowering == "onnx"]
    file = case.subject
    if not isinstance(file, ModelFile) or file.format in ("onnx", EXPORTED_ONNX) or not runtimes:
        return ExportedCases(cases)
    exported, problems = _export_any(runner, settings, file, cache)
    if exported is None:
        return ExportedCases(cases, notes=tuple(problems))
    cases.update(dict.fromkeys(runtimes, replace(case, subject=exported.file)))
    return ExportedCases(cases, dict.fromkeys(runtimes, exported.exporter), tuple(problems))


def _export_any(
    runner: LocalRunner, settings: RunnerSettings, file: ModelFile, cache: Path
) -> tuple[Exported | None, list[str]]:
    if file.format != "torch":
        return export_keras(runner, settings, file, runner.targets, cache)
    traits = traits_of(runner.targets)
    own = [target for target in runner.targets if file.format in traits[target].reads]
    try:
        return export_to_onnx(runner, settings, file, own, _exporters_of(file)[0].name, cache), []
    except TensorParityError as error:
        return None, [str(error)]


def _exporters_of(file: ModelFile) -> list[TargetSpec]:
    """The targets that read a file and export it to ONNX, the preferred one first."""
    specs = [TARGETS.get(name) for name in TARGETS.names()]
    able = [spec for spec in specs if "onnx" in spec.traits.exporters and file.format in spec.traits.reads]
    return sorted(able, key=lambda spec: (spec.traits.compiled, spec.name))


def _missing_distributions(target: str, needs: Sequence[str], settings: RunnerSettings) -> list[str]:
    name = parse_target(target)
    here = inventory(find_environment(name.environment, settings.config))
    return [*here.missing(spec_of(name)), *(need for need in needs if here.version(need) is None)]


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
    desk, imports = runner.desk(target), runner.settings.imports
    circumstances = [file.sha256, desk.circumstances, imports]
    key = hashlib.sha256(json.dumps(circumstances).encode()).hexdigest()[:24]
    path, note = cache / "exports" / f"{key}.onnx", cache / "exports" / f"{key}.json"
    # a user's own layers, or a library that somebody is working on, may have changed since
    if imports or not desk.accountable or not (path.exists() and note.exists()):
        _make(runner, target, file, path, note)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    told = json.loads(note.read_text())
    exporter = str(told["exporter"])
    return Exported(ModelFile(str(path.resolve()), sha256, EXPORTED_ONNX, exporter=exporter), tuple(told["layers"]))


def _make(runner: LocalRunner, target: str, file: ModelFile, path: Path, note: Path) -> None:
    header = {"do": "export", "path": file.path, "sha256": file.sha256, "form": "onnx", "trust": runner.settings.trust}
    reply = runner.ask(target, header, {}, _EXPORT_SECONDS)
    if reply.end is not End.ANSWERED:
        raise RunError(f"exporting it to ONNX failed: {reply.end.value}")
    if reply.header["status"] != "completed":
        failure = reply.header["failure"]
        raise RunError(f"exporting it to ONNX failed: {failure['type']}: {gist(failure['message'], _MESSAGE)}")
    if "weights:steps" in reply.arrays:
        steps = reply.arrays["weights:steps"].tobytes()
        with replacing_file(steps_of(path, hashlib.sha256(steps).hexdigest())) as out:
            out.write(steps)
    with replacing_file(path) as out:
        out.write(reply.arrays["weights:model"].tobytes())
    with replacing_file(note) as out:
        out.write(json.dumps({"exporter": reply.header["exporter"], "layers": _counts(reply.header)}).encode())


def _counts(header: Json) -> list[int]:
    layers = header["layers"]
    alone = sum(layer["inputs"] is not None for layer in layers.values())
    return [len(layers), alone, header["count"]]
