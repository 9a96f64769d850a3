"""Seed models by name: of the zoo with trained weights and all test inputs there are, or a user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..campaign.events import Listener
from ..core.errors import UsageError
from ..core.graph import LayerGraph
from ..engines.audee.seeds import SeedModel
from ..generators.inputs.models import Data
from ..operators.catalogue import has_layer
from ..targets.model_layers import read_model
from ..targets.runner import LocalRunner, RunnerSettings
from .sources.models import Context, open_source

#: All test inputs that there are, up to the paper's number.
ALL_INPUTS = 10_000


def open_seed(
    text: str,
    runner: LocalRunner,
    settings: RunnerSettings,
    targets: Sequence[str],
    seed: int,
    data: Path | None,
    listener: Listener,
) -> tuple[SeedModel, list[str]]:
    """A model that can be mutated, and what a reader should know of it.

    Raises:
        UsageError: if there is none, or it is not made of layers that the catalogue has.
    """
    context = Context(runner, settings, targets, seed, listener)
    source = open_source(text, context)
    model = source.model if source.model.graph is not None else read_model(runner, source.model, targets)
    graph = model.graph
    assert graph is not None
    unknown = [node for node in graph.nodes if not has_layer(node.op)]
    if unknown:
        raise UsageError(f"{text} has layers that the catalogue does not: {unknown[0].op} ({unknown[0].layer})")
    whole = data is not None or source.data is not None
    found: Data = source.pick_data(data, ALL_INPUTS if whole else None, seed, {})
    notes = [f"{text}: {note}" for note in source.notes]
    return SeedModel(_name(text, graph), graph, model.weights, found.inputs), notes


def _name(text: str, graph: LayerGraph) -> str:
    """A file's own name: Keras calls most models of users alike."""
    return Path(text).name if Path(text).is_file() else graph.name or text
