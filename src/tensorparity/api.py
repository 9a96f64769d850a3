"""``tensorparity.compare``: the question of the command line, asked in Python about a model that is already there.

A model object is saved in the caller's process by its own methods (``model.save``, ``torch.export``); from there on it
is a file like any other, and targets run it in processes of their own. Nothing here imports a library by itself.
"""

from __future__ import annotations

import html
import logging
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .core.errors import UsageError

if TYPE_CHECKING:
    from .campaign.events import Listener
    from .commands.compare import CompareSettings
    from .core.arrays import Array
    from .core.finding import Finding
    from .core.verdict import Verdict
    from .reporting.facts import Facts
    from .targets.runner import RunnerSettings

__all__ = ["ParityError", "ParityResult", "compare"]


class ParityError(AssertionError):
    """A model is not the same on all targets; the message names the layer."""


@dataclass(frozen=True, slots=True, eq=False)
class ParityResult:
    """What came of a comparison; in a notebook it shows itself as the report.

    Args:
        facts: everything that is known, as reports render it.
        broken: a target that was asked for could not be started, or none completed.
    """

    facts: Facts
    broken: bool = False

    @property
    def same(self) -> bool:
        """Whether nothing differs but in known ways, nothing is undecided and every target ran."""
        from .reporting.summary import Tone, summarize

        return summarize(self.facts).tone is Tone.PASS and not self.broken

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        from .reporting.summary import summarize

        return summarize(self.facts).headline

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What fails the command: defects that no known difference of ``tensorparity.toml`` accepts."""
        return self.facts.defects

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """What else was found and fails nothing: rounding, documented freedom, what a target does not offer, what
        failed in some repeats only, lost digits in a model whose outputs agree.
        """
        spared = self.facts.accepted | {finding.id for finding in self.findings}
        return tuple(finding for finding in self.facts.findings if finding.id not in spared)

    @property
    def verdicts(self) -> dict[tuple[str, str, str], Verdict]:
        """By pair of targets and output."""
        return {(pair.a, pair.b, pair.output): pair.verdict for pair in self.facts.comparisons or ()}

    def raise_for_difference(self) -> None:
        """Do nothing where all is well.

        Raises:
            ParityError: where the command would end with an error: defects were found, or it did not do all that it
                was asked for.
        """
        if self.findings or self.broken or self.facts.interrupted:
            raise ParityError(self.text)

    @property
    def text(self) -> str:
        """The report as the terminal shows it."""
        from .reporting.text import render

        return render(self.facts)

    def to_json(self) -> str:
        """The machine-readable document, whose schema ships with the package."""
        from .reporting.json_document import render

        return render(self.facts)

    def to_html(self) -> str:
        """The page of the report."""
        from .reporting.html import render

        return render(self.facts)

    def __str__(self) -> str:
        return self.headline

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that it cannot disturb the notebook."""
        page = html.escape(self.to_html(), quote=True)
        title = html.escape(self.headline)
        return (
            f"<p><strong>{title}</strong></p>"
            f'<iframe srcdoc="{page}" style="width: 100%; height: 640px; border: 1px solid #8884" '
            f'title="{title}" sandbox="allow-scripts"></iframe>'
        )


@dataclass(frozen=True)
class _Given:
    """A model on its way to the targets: its file, its data as a file, and modules that define its classes."""

    model: str
    data: Path | None = None
    imports: tuple[str, ...] = ()
    name: str = ""
    notes: tuple[str, ...] = field(default=())


def compare(
    model: Any,
    data: Any = None,
    targets: str | Sequence[str] | None = None,
    *,
    labels: Any = None,
    dynamic_shapes: Any = None,
    seed: int = 0,
    instances: int | None = None,
    batch_size: int | None = None,
    localize: str = "auto",
    reduce: bool = True,
    store: str | Path | None = None,
    imports: Sequence[str] = (),
    trust: bool = False,
    faults: Sequence[str] = (),
    config: str | Path | None = None,
    progress: bool | Listener = False,
    settings: Mapping[str, Any] | None = None,
) -> ParityResult:
    """Is this model the same on all targets? If not, the layer and the target that is wrong are named.

    Args:
        model: a ``keras.Model``, a ``torch.nn.Module``, or what the command takes: a path, ``zoo:NAME``,
            ``package.module:function``.
        data: inputs; an array, a list or tuple of them, or a dictionary by name, with the instances along the first
            axis; also the path of an ``.npz``. Drawn by ``seed`` where there are none, which a module of torch's needs
            for its shapes.
        targets: names, as a list or in one string; the installed ones that can run it by default.
        labels: one per instance, for accuracy and changed labels.
        dynamic_shapes: for ``torch.export``; by default the batch axis may vary.
        reduce: also reduce each defect to a script; ``store`` is where scripts and case files are kept.
        imports: modules that define the model's own classes; those of a model object are found by themselves.
        faults: planted on purpose, ``TARGET=NAME`` or ``TARGET=FILE.py``, to see whether they are found.
        config: the ``tensorparity.toml`` of known differences; the one in the current folder by default.
        progress: True shows a line that moves; or a function that is told events.
        settings: further fields of ``commands.compare.CompareSettings``.

    Raises:
        UsageError: for a model, data or targets that cannot be used.
        RunError: if so few targets could be started that nothing was compared.
    """
    from .commands.compare import compare as run
    from .commands.known_differences import with_known

    with tempfile.TemporaryDirectory(prefix="tensorparity-object-") as folder:
        given = _given(model, data, labels, dynamic_shapes, Path(folder))
        chosen = _settings(
            given,
            targets,
            {**(settings or {}), "seed": seed, "instances": instances, "batch_size": batch_size, "localize": localize},
            _runner([*imports, *given.imports], faults, trust),
            store,
            reduce,
        )
        with _listening(progress) as listener:
            compared = run(given.model, chosen, listener)
    facts = compared.facts
    if given.name:
        from dataclasses import replace

        facts = replace(facts, subject=given.name)
    return ParityResult(with_known(facts, Path(config)) if config else with_known(facts), compared.broken)


def _settings(
    given: _Given,
    targets: str | Sequence[str] | None,
    fields: dict[str, Any],
    runner: RunnerSettings,
    store: str | Path | None,
    reduce: bool,
) -> CompareSettings:
    from .commands.compare import CompareSettings
    from .targets.selection import choose_for_model
    from .triage.reduction.preparation import ReducingSettings

    named = targets if targets is None or isinstance(targets, str) else ",".join(targets)
    selection = choose_for_model(given.model, named)
    return CompareSettings(
        **{
            "targets": selection.targets,
            "notes": (*selection.notes, *given.notes),
            "data": given.data,
            "runner": runner,
            "store": store,
            "reducing": ReducingSettings() if reduce and store is not None else None,
            **fields,
        }
    )


def _runner(imports: Sequence[str], faults: Sequence[str], trust: bool) -> RunnerSettings:
    from .targets.faults import parse_faults
    from .targets.runner import RunnerSettings, default_cache

    return RunnerSettings(
        faults=parse_faults(list(faults)),
        imports=tuple(dict.fromkeys(imports)),
        import_paths=tuple(path for path in sys.path if path and Path(path).is_dir()) if imports else (),
        trust=trust,
        cache=default_cache(),
    )


def _listening(progress: bool | Listener) -> AbstractContextManager[Listener]:
    from .campaign.events import silent

    if callable(progress):
        return nullcontext(progress)
    if not progress:
        return nullcontext(silent)
    from .cli.progress import progress as shown

    return shown(False)


# From objects to files


def _given(model: Any, data: Any, labels: Any, dynamic: Any, folder: Path) -> _Given:
    from .worker.saving import UnsavableError, format_of

    form = format_of(model)  # type: ignore[no-untyped-call]
    try:
        if form == "keras":
            return _from_keras(model, data, labels, folder)
        if form == "torch":
            return _from_torch(model, data, labels, dynamic, folder)
    except UnsavableError as error:
        raise UsageError(str(error)) from error
    if not isinstance(model, (str, Path)):
        raise UsageError(
            f"expected a keras.Model, a torch.nn.Module, or the name of a model; received {type(model).__name__}"
        )
    if data is None or isinstance(data, (str, Path)):
        return _Given(str(model), Path(data) if data is not None else None)
    return _Given(str(model), _write_npz(folder, _named_arrays(data, ()), labels))


def _from_keras(model: Any, data: Any, labels: Any, folder: Path) -> _Given:
    from .worker.saving import save_keras

    path = folder / "model.keras"
    save_keras(model, str(path))  # type: ignore[no-untyped-call]
    imports = _modules_of(type(layer) for layer in model._flatten_layers())
    if isinstance(data, (str, Path)):
        return _Given(str(path), Path(data), imports, model.name)
    names = [tensor.name for tensor in model.inputs]
    file = None if data is None else _write_npz(folder, _named_arrays(data, names), labels)
    return _Given(str(path), file, imports, model.name)


def _from_torch(module: Any, data: Any, labels: Any, dynamic: Any, folder: Path) -> _Given:
    from .generators.model_files.torch_files import inspect_torch_file
    from .worker.saving import save_program

    path, name = folder / "model.pt2", type(module).__name__
    examples = getattr(module, "example_inputs", None) if data is None else data
    if isinstance(examples, (str, Path)) or examples is None:
        raise UsageError(
            "a torch.nn.Module is exported on example inputs: give data as tensors or arrays, in the order or under "
            "the names of forward's arguments; or save it with torch.export.save and give the .pt2"
        )
    with _without_debug_logs():
        tensors = save_program(module, _as_tensors(examples), str(path), dynamic)  # type: ignore[no-untyped-call]
    arrays = {key: tensor.detach().cpu().numpy() for key, tensor in tensors.items()}
    ranks = {spec.name: len(spec.shape) for spec in inspect_torch_file(path).inputs}
    if any(array.ndim == ranks.get(key) for key, array in arrays.items()):  # no batch axis: this is one instance
        arrays = {key: array[None] for key, array in arrays.items()}
    return _Given(str(path), _write_npz(folder, arrays, labels), (), name)


@contextmanager
def _without_debug_logs() -> Iterator[None]:
    """torch.export writes its trace into the logs, which pytest shows beside every failure."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.INFO))
    try:
        yield
    finally:
        logging.disable(before)


def _as_tensors(value: Any) -> Any:
    """Arrays as tensors, in whatever containers; everything else as it is."""
    torch = sys.modules["torch"]
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, Mapping):
        return {name: _as_tensors(item) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_as_tensors(item) for item in value)
    return value


def _named_arrays(data: Any, names: Sequence[str]) -> dict[str, Array]:
    if isinstance(data, Mapping):
        return {str(name): _array(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)) and len(names) == len(data):
        return {name: _array(value) for name, value in zip(names, data, strict=True)}
    if isinstance(data, (list, tuple)):
        raise UsageError(f"expected {len(names) or 'named'} inputs; received {len(data)}: give them as a dictionary")
    return {"x": _array(data)}


def _array(value: Any) -> Array:
    """An array from whatever a library calls one."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return np.asarray(value)


def _write_npz(folder: Path, arrays: Mapping[str, Array], labels: Any) -> Path:
    path = folder / "data.npz"
    more = {} if labels is None else {"y": _array(labels)}
    np.savez(path, **arrays, **more)  # type: ignore[arg-type]
    return path


def _modules_of(classes: Any) -> tuple[str, ...]:
    """The modules of classes that are not Keras' own.

    Raises:
        UsageError: for a class of the program itself, which no other process can import.
    """
    found = dict.fromkeys(kind.__module__ for kind in classes if kind.__module__.partition(".")[0] != "keras")
    if "__main__" in found:
        raise UsageError("a layer of the model is defined in __main__; put it into a module, so that workers find it")
    return tuple(found)
