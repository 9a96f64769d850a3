"""What the studies of planted faults share: the faults, which layers they concern, and the zoo ready to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tensorparity.campaign.events import silent
from tensorparity.commands.sources.models import Context, open_source
from tensorparity.core.graph import Node
from tensorparity.core.model import Model
from tensorparity.core.runner import Runner
from tensorparity.generators.inputs.models import Data
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, default_cache, open_runner, with_cache

TARGETS = ("keras:tensorflow", "keras:jax", "keras:torch")
#: The target that faults are planted in.
FAULTY = "keras:torch"


def _is_same(node: Node) -> bool:
    return node.params.get("padding") == "same"


def _can_shift(node: Node) -> bool:
    """Padding can be shifted only where there is some, and not symmetrically: strides above 1 or an even kernel."""
    sizes = [node.params.get("strides", 1), node.params.get("kernel_size", 1)]
    strides, kernel = ([size] if isinstance(size, int) else list(size) for size in sizes)
    return _is_same(node) and max(kernel) > 1 and (max(strides) > 1 or any(size % 2 == 0 for size in kernel))


#: Named faults (all from the paper), and the layers that each of them changes.
FAULTS: dict[str, Callable[[Node], bool]] = {
    "batchnorm-epsilon-outside-sqrt": lambda node: node.op == "BatchNormalization",
    "avgpool-counts-padding": lambda node: node.op.startswith("AveragePooling") and _is_same(node),
    "same-padding-shifted": lambda node: node.op in ("Conv2D", "DepthwiseConv2D") and _can_shift(node),
    "conv-kernels-flipped": lambda node: (
        node.op == "Conv2D" and node.params.get("kernel_size") not in (1, (1, 1), [1, 1])
    ),
}


@dataclass(frozen=True)
class Opened:
    """A model with weights and data."""

    name: str
    model: Model
    data: Data
    notes: tuple[str, ...]

    @property
    def trained(self) -> bool:
        return any(note.startswith("weights: trained") for note in self.notes)

    def concerned(self, fault: str) -> list[Node]:
        graph = self.model.graph
        return [node for node in graph.nodes if FAULTS[fault](node)] if graph else []


@contextmanager
def running(targets: Sequence[str], fault: str | None = None) -> Iterator[tuple[LocalRunner, Runner, RunnerSettings]]:
    """Workers for the targets, with a fault in the one that takes it; the second runner remembers outcomes."""
    faults = {FAULTY: load_fault(fault)} if fault else {}
    settings = RunnerSettings(faults=faults, cache=default_cache())
    with open_runner(targets, settings) as runner:
        yield runner, with_cache(runner, settings), settings


def open_model(name: str, runner: LocalRunner, settings: RunnerSettings, count: int, seed: int = 0) -> Opened:
    """A model of the zoo, or any other that ``compare`` takes, with its layers read."""
    text = name if ":" in name else f"zoo:{name}"
    source = open_source(text, Context(runner, settings, runner.targets, seed, silent))
    model = source.model
    if model.graph is None and source.import_graph is not None:
        model = source.import_graph(model)
    return Opened(name, model, source.pick_data(None, count, seed, {}), source.notes)
