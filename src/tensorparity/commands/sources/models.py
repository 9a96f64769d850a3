"""From what a user types (``model.keras``, ``zoo:lenet5``) to a Model, its inputs and its data.

Each kind of model is one function in the table; ``open_source`` picks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...campaign.events import Listener, Progress
from ...core.errors import DataError, TensorParityError, UsageError
from ...core.graph import InputSpec
from ...core.model import Model
from ...generators.inputs.models import Data, Draw, load_npz, seeded_inputs
from ...generators.model_files.keras_files import inspect_model_file
from ...generators.model_files.onnx_files import inspect_onnx_file
from ...generators.model_files.torch_containers import write_plain_copy
from ...generators.model_files.torch_files import InspectedProgram, inspect_torch_file
from ...targets.catalogue import TARGETS, TORCH_EXPORTER, spec_of, traits_of
from ...targets.exports import Exported, export_keras, export_to_onnx
from ...targets.names import parse_target
from ...targets.runner import LocalRunner, RunnerSettings, default_cache
from ...zoo.entries import find_entry
from ..zoo import Workshop, input_draws, open_zoo
from .applications import application_file
from .factories import factory_file, is_factory

#: Instances drawn where the user gives no data.
SEEDED_INSTANCES = 32


@dataclass(frozen=True)
class Context:
    """What opening a source may need: the runner, and what the user said about trust, seeds and data."""

    runner: LocalRunner
    settings: RunnerSettings
    targets: Sequence[str]
    seed: int
    listener: Listener
    arbiters: Sequence[str] = ()
    draws: Mapping[str, Draw] = field(default_factory=dict)
    data: Path | None = None


@dataclass(frozen=True)
class ModelSource:
    """A model ready to be examined.

    Args:
        inputs: its signature, for data of the user's.
        data: the data it comes with, if any.
        draws: how its inputs are best drawn, where there is no data.
        notes: what a reader should know of the model (which weights, what was trusted).
    """

    model: Model
    inputs: tuple[InputSpec, ...]
    data: Data | None = None
    draws: Mapping[str, Draw] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def pick_data(self, path: Path | None, count: int | None, seed: int, draws: Mapping[str, Draw]) -> Data:
        """The user's data, else the model's own, else seeded inputs; at most ``count`` instances.

        Of the model's own, the first thousand where nobody says how many.

        Raises:
            DataError: if the user's data does not fit.
        """
        if path is not None:
            return in_batches(at_most(load_npz(path, self.inputs), count), self.model.batch)
        if self.data is not None and not draws:
            return in_batches(at_most(self.data, count or OWN_INSTANCES), self.model.batch)
        wanted = max(count or SEEDED_INSTANCES, self.model.batch or 1)
        return in_batches(seeded_inputs(self.inputs, wanted, seed, {**self.draws, **draws}), self.model.batch)


#: Of a data set that a model brings along, how many inputs are used where nobody says how many.
OWN_INSTANCES = 1_000


def open_source(text: str, context: Context) -> ModelSource:
    """The model behind ``text``.

    Raises:
        UsageError: if there is none, or it must not be loaded.
    """
    for prefix, opener in _BY_PREFIX.items():
        if text.startswith(prefix):
            return opener(text, context)
    if is_factory(text) and not Path(text).exists():
        return _factory(text, context)
    return _BY_SUFFIX.get(Path(text).suffix, _keras_file)(text, context)


def _onnx_file(text: str, context: Context) -> ModelSource:
    path = Path(text)
    able = {target for target in (*context.targets, *context.arbiters) if _lowering_of(target) == "onnx"}
    unable = [target for target in context.targets if target not in able]
    inspected = inspect_onnx_file(path)
    if unable:
        known = [name for name in TARGETS.names() if TARGETS.get(name).traits.lowering == "onnx"]
        raise UsageError(f"{', '.join(unable)} cannot run {path.name}; ONNX files run on {', '.join(known)}")
    return ModelSource(
        Model(
            path.name,
            inspected.graph,
            file=inspected.file,
            files=dict.fromkeys(able, inspected.file),
            traits=traits_of(able),
        ),
        inspected.inputs,
        draws=inspected.draws,
        notes=inspected.notes,
    )


def _torch_file(text: str, context: Context) -> ModelSource:
    path = Path(text)
    inspected = _plain_program(path, context)
    traits = traits_of(context.targets)
    own = [target for target in context.targets if "torch" in traits[target].reads]
    runtimes = [target for target in (*context.targets, *context.arbiters) if _lowering_of(target) == "onnx"]
    unable = [target for target in context.targets if target not in own and target not in runtimes]
    if unable:
        raise UsageError(
            f"{', '.join(unable)} cannot run {path.name}; exported torch programs run on torch:eager, torch:compile "
            "and, exported to ONNX, on onnxruntime, openvino and onnx:reference"
        )
    notes = [*(f"trusted: {item}" for item in inspected.foreign), *inspected.notes]
    if inspected.batch:
        notes.append(f"the batch size is fixed to {inspected.batch}")
    files = dict.fromkeys(own, inspected.model)
    model = Model(path.name, file=inspected.model, files=files, batch=inspected.batch, traits=traits)
    if runtimes:
        model = _with_export(model, runtimes, own, context, notes)
    return ModelSource(
        model,
        inspected.inputs,
        draws=inspected.draws,
        notes=tuple(notes),
    )


def _plain_program(path: Path, context: Context) -> InspectedProgram:
    """The program inspected; where its containers are classes of somebody's, a copy without them."""
    inspected = inspect_torch_file(path, trust=context.settings.trust)
    if not inspected.containers:
        return inspected
    cache = context.settings.cache or default_cache()
    copy = inspect_torch_file(write_plain_copy(path, cache / "programs"), trust=context.settings.trust)
    names = ", ".join(name.rpartition(".")[2] for name in inspected.containers)
    return replace(copy, notes=(*copy.notes, f"run with dictionaries and lists in place of {names}"))


def _with_export(
    model: Model, runtimes: Sequence[str], own: Sequence[str], context: Context, notes: list[str]
) -> Model:
    """The model with an ONNX file for the runtimes, or a note why there is none."""
    assert model.file is not None
    context.listener(Progress("exporting to ONNX", 0, None))
    cache = context.settings.cache or default_cache()
    try:
        exported = export_to_onnx(context.runner, context.settings, model.file, own, TORCH_EXPORTER, cache)
    except TensorParityError as error:
        notes.append(f"{', '.join(runtimes)} cannot run it: {error}")
        return model
    notes.append(f"{', '.join(runtimes)}: {exported}")
    return _with_exported_files(model, runtimes, exported)


def _with_keras_export(model: Model, runtimes: Sequence[str], context: Context, notes: list[str]) -> Model:
    """The model with the file that Keras exports for the runtimes; without one they run our lowering of its graph."""
    assert model.file is not None
    context.listener(Progress("exporting to ONNX", 0, None))
    cache = context.settings.cache or default_cache()
    exported, problems = export_keras(context.runner, context.settings, model.file, context.targets, cache)
    notes += problems
    if exported is None:
        notes.append(f"{', '.join(runtimes)}: not exported by Keras, but lowered to ONNX by TensorParity")
        return model
    notes.append(f"{', '.join(runtimes)}: {exported}")
    return _with_exported_files(model, runtimes, exported)


def _with_exported_files(model: Model, runtimes: Sequence[str], exported: Exported) -> Model:
    files = {**model.files, **dict.fromkeys(runtimes, exported.file)}
    return replace(model, files=files)


def _factory(text: str, context: Context) -> ModelSource:
    context.listener(Progress(f"calling {text}", 0, None))
    cache = context.settings.cache or default_cache()
    path, draws = factory_file(text, context.targets, context.settings, context.draws, cache)
    source = _BY_SUFFIX.get(path.suffix, _keras_file)(str(path), context)
    return replace(source, model=replace(source.model, name=text), draws=_drawn_like(draws, source))


def _drawn_like(draws: Mapping[str, Draw], source: ModelSource) -> dict[str, Draw]:
    """Shapes of the examples, with the ranges that the model's own tables allow where it has any."""
    own, found = source.draws, dict(source.draws)
    ranks = {spec.name: len(spec.shape) for spec in source.inputs}
    examples = {name: _without_batch(draw, ranks[name]) for name, draw in draws.items() if name in ranks}
    found.update(examples)
    for name in set(own) & set(examples):
        found[name] = replace(examples[name], low=own[name].low, high=own[name].high, whole=own[name].whole)
    return found


def _without_batch(draw: Draw, rank: int) -> Draw:
    """An example has a batch axis where the program has one."""
    sizes = draw.shape or ()
    return replace(draw, shape=sizes[len(sizes) - rank :])


def _lowering_of(target: str) -> str | None:
    return spec_of(parse_target(target)).traits.lowering


def _keras_file(text: str, context: Context) -> ModelSource:
    settings = context.settings
    inspected = inspect_model_file(Path(text), trust=settings.trust, imports=settings.imports)
    notes = [f"trusted: {', '.join(inspected.foreign)}"] if inspected.foreign else []
    asked = (*context.targets, *context.arbiters)
    traits = traits_of(asked)
    readers = [target for target in asked if "keras" in traits[target].reads]
    runtimes = [target for target in asked if _lowering_of(target) == "onnx"]
    files = dict.fromkeys(readers, inspected.model)
    model = Model(Path(text).name, file=inspected.model, files=files, traits=traits)
    if runtimes:
        model = _with_keras_export(model, runtimes, context, notes)
    return ModelSource(
        model,
        inspected.inputs,
        draws=inspected.draws,
        notes=tuple(notes),
    )


def _application(text: str, context: Context) -> ModelSource:
    name = text.removeprefix("app:")
    context.listener(Progress(f"opening {text}", 0, None))
    cache = context.settings.cache or default_cache()
    path, notes = application_file(context.runner, name, context.seed, cache)
    source = _keras_file(str(path), context)
    notes = [*(f"weights: {note}" for note in notes), *source.notes]
    return replace(source, model=replace(source.model, name=text), notes=tuple(notes))


def _zoo(text: str, context: Context) -> ModelSource:
    cache = context.settings.cache or default_cache()
    workshop, name = Workshop(context.runner, context.settings, context.targets), text.removeprefix("zoo:")
    if context.data is not None:
        load_npz(context.data, find_entry(name).build().inputs)  # before it is trained
    found = open_zoo(name, context.seed, cache, workshop, context.listener)
    model = Model(text, found.graph, found.weights)
    return ModelSource(model, found.graph.inputs, found.data, input_draws(found.graph), found.notes)


def at_most(data: Data, count: int | None) -> Data:
    """The first ``count`` instances."""
    if count is None or count >= data.count:
        return data
    return Data(
        {name: array[:count] for name, array in data.inputs.items()},
        {name: array[:count] for name, array in data.labels.items()},
        f"{data.origin}, the first {count}",
        data.notes,
        data.given,
    )


def in_batches(data: Data, batch: int | None) -> Data:
    """Whole batches only, for a model that takes one size.

    Raises:
        DataError: if there is not one.
    """
    if batch is None:
        return data
    if data.count < batch:
        raise DataError(f"the model takes batches of {batch}; the data has {data.count} instances")
    return at_most(data, data.count // batch * batch)


_BY_SUFFIX: dict[str, Callable[[str, Context], ModelSource]] = {".onnx": _onnx_file, ".pt2": _torch_file}
_BY_PREFIX: dict[str, Callable[[str, Context], ModelSource]] = {"app:": _application, "zoo:": _zoo}
