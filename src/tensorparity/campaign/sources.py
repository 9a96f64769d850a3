"""From what a user types (``model.keras``, ``zoo:lenet5``) to a Model, its inputs and its data.

Each kind of model is one function in the table; ``open_source`` picks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.arrays import Array
from ..core.graph import InputSpec, LayerGraph
from ..core.model import Model
from ..generators.inputs import Data, Draw, load_npz, seeded_inputs
from ..generators.model_files import inspect_model_file
from ..targets.runner import LocalRunner, RunnerSettings, default_cache, open_runner
from ..zoo.architectures import architecture
from ..zoo.weights import calibrated, trained_on_mnist
from .applications import application_file
from .events import Listener, Progress
from .importing import import_graph, train_graph

#: Instances drawn where the user gives no data.
SEEDED_INSTANCES = 32


@dataclass(frozen=True)
class Context:
    """What opening a source may need: the runner, and what the user said about trust and seeds."""

    runner: LocalRunner
    settings: RunnerSettings
    targets: Sequence[str]
    seed: int
    listener: Listener


@dataclass(frozen=True)
class Source:
    """A model ready to be examined.

    Args:
        inputs: its signature, for data of the user's.
        data: the data it comes with, if any.
        draws: how its inputs are best drawn, where there is no data.
        notes: what a reader should know of the model (which weights, what was trusted).
        import_graph: reads the layers of a file, when they are needed.
    """

    model: Model
    inputs: tuple[InputSpec, ...]
    data: Data | None = None
    draws: Mapping[str, Draw] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    import_graph: Callable[[Model], Model] | None = None

    def pick_data(self, path: Path | None, count: int | None, seed: int, draws: Mapping[str, Draw]) -> Data:
        """The user's data, else the model's own, else seeded inputs; at most ``count`` instances.

        Raises:
            DataError: if the user's data does not fit.
        """
        if path is not None:
            return at_most(load_npz(path, self.inputs), count)
        if self.data is not None and not draws:
            return at_most(self.data, count)
        return seeded_inputs(self.inputs, count or SEEDED_INSTANCES, seed, {**self.draws, **draws})


def open_source(text: str, context: Context) -> Source:
    """The model behind ``text``.

    Raises:
        UsageError: if there is none, or it must not be loaded.
    """
    for prefix, opener in _BY_PREFIX.items():
        if text.startswith(prefix):
            return opener(text, context)
    return _keras_file(text, context)


def _keras_file(text: str, context: Context) -> Source:
    settings = context.settings
    inspected = inspect_model_file(Path(text), trust=settings.trust, imports=bool(settings.imports))
    notes = (f"trusted: {', '.join(inspected.foreign)}",) if inspected.foreign else ()
    readers = {target: inspected.model for target in context.targets if target.startswith("keras:")}
    return Source(
        Model(Path(text).name, file=inspected.model, files=readers),
        inspected.inputs,
        draws=inspected.draws,
        notes=notes,
        import_graph=lambda model: import_graph(context.runner, model, context.targets, settings.trust),
    )


def _application(text: str, context: Context) -> Source:
    name = text.removeprefix("app:")
    context.listener(Progress(f"building {name}", 0, None))
    cache = context.settings.cache or default_cache()
    path, notes = application_file(context.runner, name, context.seed, cache)
    source = _keras_file(str(path), context)
    return replace(source, model=replace(source.model, name=text), notes=tuple(f"weights: {n}" for n in notes))


def _zoo(text: str, context: Context) -> Source:
    graph = architecture(text.removeprefix("zoo:"))
    if graph.name != "lenet5":
        weights = calibrated(graph, context.seed)
        return Source(Model(text, graph, weights), graph.inputs, notes=("weights: seeded and calibrated",))
    zoo = trained_on_mnist(graph, context.settings.cache or default_cache(), _Trainer(context))
    labels = {"": zoo.labels} if zoo.labels is not None else {}
    data = Data(zoo.inputs, labels, zoo.origin)
    return Source(Model(text, graph, zoo.weights), graph.inputs, data)


@dataclass(frozen=True)
class _Trainer:
    """Trains in a worker; a planted fault must not get into the weights that stay in the cache."""

    context: Context
    phase: str = field(default="training on MNIST, once")

    def __call__(
        self,
        graph: LayerGraph,
        weights: dict[str, Array],
        images: Array,
        labels: Array,
        recipe: dict[str, object],
    ) -> dict[str, Array]:
        context = self.context
        context.listener(Progress(self.phase, 0, None))
        if not context.settings.faults:
            return train_graph(context.runner, graph, weights, images, labels, recipe)
        with open_runner(context.targets, replace(context.settings, faults={})) as clean:
            return train_graph(clean, graph, weights, images, labels, recipe)


def at_most(data: Data, count: int | None) -> Data:
    """The first ``count`` instances."""
    if count is None or count >= data.count:
        return data
    return Data(
        {name: array[:count] for name, array in data.inputs.items()},
        {name: array[:count] for name, array in data.labels.items()},
        f"{data.origin}, the first {count}",
        data.notes,
    )


_BY_PREFIX: dict[str, Callable[[str, Context], Source]] = {"app:": _application, "zoo:": _zoo}
