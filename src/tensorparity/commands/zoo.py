"""The zoo at work: which weights a model has, training it in a worker, listing what is there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..campaign.events import Listener, Progress, silent
from ..core.arrays import Array
from ..core.case import Case
from ..core.errors import RunError, UsageError, WorkerStartError
from ..core.graph import LayerGraph
from ..generators.inputs.models import Data, Draw
from ..operators.reference.evaluate import declare_weights
from ..reporting.facts import Facts, ModelFacts, TargetFacts
from ..targets.catalogue import trainers, traits_of
from ..targets.environments import inventory
from ..targets.names import parse_target
from ..targets.runner import LocalRunner, RunnerSettings, open_runner
from ..targets.selection import installed_targets, named_targets
from ..zoo.data import DataSet, Part
from ..zoo.datasets import DATASETS
from ..zoo.entries import ZOO, Entry, find_entry
from ..zoo.weights import Shelf, TrainingRecord, calibrated_weights, input_domains, starting_weights
from .sources.importing import train_graph

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
        own = next((target for kind in trainers() for target in clean if target == kind), None)
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
    note = f"weights: trained on {data.training.first(entry.instances).count} {entry.origin}"
    return ZooModel(graph, weights, Data(data.validation.inputs, labels, origin), (note,))


def _with_calibrated(entry: Entry, graph: LayerGraph, seed: int, problem: str = "") -> ZooModel:
    note = "weights: seeded and calibrated"
    if problem:
        note += f", for it cannot be trained: {problem}"
    elif entry.data:
        note += f"; 'tensorparity zoo train {entry.name}' trains it on {entry.origin}"
    return ZooModel(graph, calibrated_weights(graph, seed), None, (note,))


def input_draws(graph: LayerGraph) -> dict[str, Draw]:
    """How the inputs are drawn of which the layers accept certain values only."""
    domains = input_domains(graph).items()
    return {
        name: Draw(low=domain.low or 0, high=domain.high - 1, whole=True, source="what its layers take")
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
        named = named_targets(text)
        if len(named) != 1:
            raise UsageError(f"one target trains, --target names {', '.join(named) or 'none'}")
        if parse_target(named[0]).base not in trainers():
            raise UsageError(f"{named[0]} does not train; {', '.join(trainers())} do")
        return named[0]
    here = installed_targets()
    for target in trainers():
        if target in here:
            return target
    raise UsageError("training a model of the zoo needs Keras; pip install 'tensorparity[torch]'")


def train_entry(
    runner: LocalRunner, target: str, entry: Entry, graph: LayerGraph, data: DataSet
) -> tuple[dict[str, Array], TrainingRecord]:
    """The weights after training, and how good they are on the validation part.

    Raises:
        RunError: if training failed.
    """
    began = time.monotonic()
    part = data.training.first(entry.instances)
    weights = train_graph(runner, target, graph, starting_weights(entry, graph), part, entry.recipe())
    seconds = time.monotonic() - began
    return weights, _score_of(runner, target, entry, graph, weights, data.validation, seconds)


def _score_of(
    runner: LocalRunner,
    target: str,
    entry: Entry,
    graph: LayerGraph,
    weights: dict[str, Array],
    unseen: Part,
    seconds: float,
) -> TrainingRecord:
    outcome = runner.run_pairs([(Case(graph, inputs=unseen.inputs, weights=weights), target)])[0]
    if not outcome.completed:
        raise RunError(f"{entry.name} was trained on {target}, but does not run there: {outcome.status.value}")
    answers = outcome.outputs[graph.outputs[0].node]
    if not entry.classifies:
        error = float(np.abs(answers - unseen.labels).mean())
        return TrainingRecord(target, seconds, error, float(unseen.labels.std()))
    chosen = answers.argmax(axis=-1) if answers.shape[-1] > 1 else (answers > 0.5).astype(np.int64)
    return TrainingRecord(target, seconds, float((chosen == unseen.labels.astype(np.int64)).mean()))


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


@dataclass(frozen=True)
class TrainedEntry:
    """The models, and whether training one of them failed."""

    facts: Facts
    failed: bool


def train_zoo(settings: TrainSettings, listener: Listener = silent) -> TrainedEntry:
    """Train models of the zoo into the cache; one that fails is no reason to leave out the others.

    Raises:
        UsageError: for a model that does not exist, that is not trained, or whose data is not here, if it was named.
        RunError: if the worker cannot be started.
    """
    began = time.monotonic()
    entries = _trainable_entries(settings.names) or [entry for entry in ZOO.values() if entry.data]
    target = _with_threads(pick_trainer(settings.target))
    shelf = Shelf(settings.cache)
    problems: dict[str, str] = {}
    failed = False
    with open_runner([target]) as runner:
        for position, entry in enumerate(entries):
            listener(Progress("training", position, len(entries), entry.name))
            try:
                problems[entry.name] = _train_one(runner, target, entry, shelf, settings.again)
            except WorkerStartError:
                raise
            except RunError as error:
                problems[entry.name], failed = f"failed: {error}", True
        versions = inventory(runner.desk(target).environment).versions(runner.desk(target).spec)
    facts = Facts(
        command="zoo",
        seed=0,
        targets=(TargetFacts(target, versions=versions),),
        stats={"cases": len(entries), "seconds": time.monotonic() - began},
        models=tuple(model_facts(entry, shelf, problems[entry.name]) for entry in entries),
    )
    return TrainedEntry(facts, failed)


def _trainable_entries(names: Sequence[str]) -> list[Entry]:
    """The models a user named, all of which can be trained: better to hear of it before the first is."""
    entries = [find_entry(name) for name in names]
    for entry in entries:
        if not entry.data:
            raise UsageError(f"{entry.name} has no data to be trained on; it is compared with calibrated weights")
        DATASETS[entry.data].load()
    return entries


def _with_threads(target: str) -> str:
    """A thread per core for whoever gains by it: TensorFlow does, and torch stalls where others compute too."""
    return f"{target}{{threads={os.cpu_count() or 1}}}" if traits_of([target])[target].gains_by_threads else target


def _train_one(runner: LocalRunner, target: str, entry: Entry, shelf: Shelf, again: bool) -> str:
    """Train and keep one model; return why it was not necessary or not possible."""
    graph = entry.build()
    if not again and shelf.load(entry, graph) is not None:
        return "trained before; --again trains it again"
    try:
        data = DATASETS[entry.data].load()
    except UsageError as error:
        return f"left out: {error}"
    shelf.keep(entry, graph, *train_entry(runner, target, entry, graph, data))
    return ""


# Listing


def list_zoo(cache: Path) -> Facts:
    """Every model of the zoo, and whether it has been trained here; nothing is run."""
    shelf = Shelf(cache)
    models = tuple(model_facts(entry, shelf) for entry in ZOO.values())
    return Facts(command="zoo", seed=0, targets=(), stats={}, models=models)


def model_facts(entry: Entry, shelf: Shelf, remark: str = "") -> ModelFacts:
    graph = entry.build()
    trained = shelf.load(entry, graph) is not None
    training = shelf.training(entry, graph) if trained else None
    return ModelFacts(
        name=entry.name,
        layers=len(graph.nodes),
        parameters=sum(int(np.prod(spec.shape)) for spec in declare_weights(graph).values()),
        data=entry.origin,
        trained=trained,
        measure="accuracy" if entry.classifies else "mean absolute error",
        score=training.score if training else None,
        spread=training.spread if training else None,
        seconds=training.seconds if training else None,
        remark=remark,
    )
