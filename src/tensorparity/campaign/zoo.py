"""The zoo at work: which weights a model has, training it in a worker, listing what is there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..core.arrays import Array
from ..core.case import Case
from ..core.errors import RunError, UsageError
from ..core.graph import LayerGraph
from ..generators.inputs import Data, Draw
from ..operators.evaluate import declare_weights
from ..reporting.facts import Facts, ModelFacts, TargetFacts
from ..targets.environments import inventory
from ..targets.names import parse_target
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from ..zoo.data import DataSet, Part
from ..zoo.datasets import DATASETS
from ..zoo.entries import ZOO, Entry, find_entry
from ..zoo.weights import Shelf, Training, calibrated, input_domains, starting_weights
from .events import Listener, Progress, silent
from .importing import train_graph
from .selection import installed_targets, named_targets

#: Who trains: the first that is installed, in the order of their speed with small models on one thread.
TRAINERS = ("keras:tensorflow", "keras:jax", "keras:torch")


# A model with its weights


@dataclass(frozen=True)
class Workshop:
    """Where training happens: the run's own workers, or new ones where those have faults planted or cannot train."""

    runner: LocalRunner
    settings: RunnerSettings
    targets: Sequence[str]

    @contextmanager
    def trainer(self) -> Iterator[tuple[LocalRunner, str]]:
        """A runner and its target that trains.

        Raises:
            UsageError: if Keras is not installed.
        """
        clean = [target for target in self.targets if target not in self.settings.faults]
        own = next((target for kind in TRAINERS for target in clean if target == kind), None)
        if own is not None:
            yield self.runner, own
            return
        target = pick_trainer()
        with open_runner([target], replace(self.settings, faults={})) as other:
            yield other, target


@dataclass(frozen=True)
class ZooModel:
    """A graph with weights, the data it has not seen (none for calibrated weights), and where both come from."""

    graph: LayerGraph
    weights: dict[str, Array]
    data: Data | None
    notes: tuple[str, ...]


def open_zoo(name: str, seed: int, cache: Path, workshop: Workshop, listener: Listener = silent) -> ZooModel:
    """The model with trained weights if it has been trained or is trained quickly, else with calibrated ones.

    Raises:
        UsageError: if there is no such model.
        RunError: if training failed.
    """
    entry = find_entry(name)
    graph = entry.build()
    shelf = Shelf(cache)
    weights = shelf.load(entry, graph)
    if weights is None and not entry.quick:
        return _with_calibrated(entry, graph, seed)
    try:
        data = DATASETS[entry.data].load()
        if weights is None:
            listener(Progress(f"training {entry.name}, once", 0, None))
            with workshop.trainer() as (runner, target):
                weights, training = train_entry(runner, target, entry, graph, data)
            shelf.keep(entry, graph, weights, training)
    except UsageError as error:
        return _with_calibrated(entry, graph, seed, str(error))
    origin = f"{data.validation.count} {entry.origin}, which it was not trained on"
    labels = {"": data.validation.labels}
    note = f"weights: trained on {data.training.count} {entry.origin}"
    return ZooModel(graph, weights, Data(data.validation.inputs, labels, origin), (note,))


def _with_calibrated(entry: Entry, graph: LayerGraph, seed: int, problem: str = "") -> ZooModel:
    note = "weights: seeded and calibrated"
    if problem:
        note += f", for it cannot be trained: {problem}"
    elif entry.data:
        note += f"; 'tensorparity zoo train {entry.name}' trains it on {entry.origin}"
    return ZooModel(graph, calibrated(graph, seed), None, (note,))


def input_draws(graph: LayerGraph) -> dict[str, Draw]:
    """How the inputs are drawn of which the layers accept certain values only."""
    domains = input_domains(graph).items()
    return {
        name: Draw(low=domain.low or 0, high=domain.high - 1, whole=True)
        for name, domain in domains
        if domain.high is not None
    }


# Training


def pick_trainer(text: str | None = None) -> str:
    """The target that trains: the one named, or the first installed.

    Raises:
        UsageError: if it is no Keras target that trains, or none is installed.
    """
    if text is not None:
        (target,) = named_targets(text) or ("",)
        if parse_target(target).base not in TRAINERS:
            raise UsageError(f"{target} does not train; {', '.join(TRAINERS)} do")
        return target
    here = installed_targets()
    for target in TRAINERS:
        if target in here:
            return target
    raise UsageError("training a model of the zoo needs Keras; pip install 'tensorparity[torch]'")


def train_entry(
    runner: LocalRunner, target: str, entry: Entry, graph: LayerGraph, data: DataSet
) -> tuple[dict[str, Array], Training]:
    """The weights after training, and how good they are on the validation part.

    Raises:
        RunError: if training failed.
    """
    began = time.monotonic()
    weights = train_graph(runner, target, graph, starting_weights(entry, graph), data.training, entry.recipe())
    seconds = time.monotonic() - began
    return weights, _scored(runner, target, entry, graph, weights, data.validation, seconds)


def _scored(
    runner: LocalRunner,
    target: str,
    entry: Entry,
    graph: LayerGraph,
    weights: dict[str, Array],
    unseen: Part,
    seconds: float,
) -> Training:
    outcome = runner.run_pairs([(Case(graph, inputs=unseen.inputs, weights=weights), target)])[0]
    if not outcome.completed:
        raise RunError(f"{entry.name} was trained on {target}, but does not run there: {outcome.status.value}")
    answers = outcome.outputs[graph.outputs[0].node]
    if not entry.classifies:
        error = float(np.abs(answers - unseen.labels).mean())
        return Training(target, seconds, error, float(unseen.labels.std()))
    chosen = answers.argmax(axis=-1) if answers.shape[-1] > 1 else (answers > 0.5).astype(np.int64)
    return Training(target, seconds, float((chosen == unseen.labels.astype(np.int64)).mean()))


@dataclass(frozen=True)
class TrainSettings:
    """What ``zoo train`` is told.

    Args:
        names: the models; all whose data is here without any.
        target: who trains.
        again: also those that have been trained before.
    """

    cache: Path
    names: Sequence[str] = ()
    target: str | None = None
    again: bool = False


def train_zoo(settings: TrainSettings, listener: Listener = silent) -> Facts:
    """Train models of the zoo into the cache.

    Raises:
        UsageError: for a model that does not exist, that is not trained, or whose data is not here, if it was named.
        RunError: if training failed.
    """
    began = time.monotonic()
    entries = [find_entry(name) for name in settings.names] or [entry for entry in ZOO.values() if entry.data]
    target = pick_trainer(settings.target)
    shelf = Shelf(settings.cache)
    found: list[ModelFacts] = []
    with open_runner([target]) as runner:
        for position, entry in enumerate(entries):
            listener(Progress("training", position, len(entries), entry.name))
            found.append(_train_one(runner, target, entry, shelf, settings))
        versions = inventory(runner.desk(target).environment).versions(runner.desk(target).spec)
    return Facts(
        command="zoo",
        seed=0,
        targets=(TargetFacts(target, versions=versions),),
        stats={"cases": len(found), "seconds": time.monotonic() - began},
        models=tuple(found),
    )


def _train_one(runner: LocalRunner, target: str, entry: Entry, shelf: Shelf, settings: TrainSettings) -> ModelFacts:
    graph = entry.build()
    if not entry.data:
        raise UsageError(f"{entry.name} has no data to be trained on; it is compared with calibrated weights")
    if not settings.again and shelf.load(entry, graph) is not None:
        return model_facts(entry, shelf, remark="trained before; --again trains it again")
    try:
        data = DATASETS[entry.data].load()
    except UsageError as error:
        if settings.names:
            raise
        return model_facts(entry, shelf, remark=f"left out: {error}")
    weights, training = train_entry(runner, target, entry, graph, data)
    shelf.keep(entry, graph, weights, training)
    return model_facts(entry, shelf)


# Listing


def list_zoo(cache: Path) -> Facts:
    """Every model of the zoo, and whether it has been trained here; nothing is run."""
    shelf = Shelf(cache)
    models = tuple(model_facts(entry, shelf) for entry in ZOO.values())
    return Facts(command="zoo", seed=0, targets=(), stats={}, models=models)


def model_facts(entry: Entry, shelf: Shelf, remark: str = "") -> ModelFacts:
    graph = entry.build()
    training = shelf.training(entry, graph)
    return ModelFacts(
        name=entry.name,
        layers=len(graph.nodes),
        parameters=sum(int(np.prod(spec.shape)) for spec in declare_weights(graph).values()),
        data=entry.origin,
        trained=training is not None,
        measure="accuracy" if entry.classifies else "mean absolute error",
        score=training.score if training else None,
        spread=training.spread if training else None,
        seconds=training.seconds if training else None,
        remark=remark,
    )
