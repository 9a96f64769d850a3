"""Model: what a user asks about, in the forms the targets take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .arrays import Array, Arrays
from .case import Case, ModelFile
from .graph import LayerGraph, Node, Ref
from .procedure import Procedure
from .traits import Traits


@dataclass(frozen=True)
class Model:
    """A model under test. A file runs as it is where the target reads it; elsewhere its graph does.

    Args:
        name: in the user's words.
        graph: its layers; None while a file has not been imported.
        weights: the graph's, by ``layer/weight``.
        file: the user's file, if that is what it came from.
        files: by target, the file that target is given (the user's own, or one exported from it).
        batch: the only batch size the model takes; None where it takes any.
        traits: of the targets: who reads its file as it is.
    """

    name: str
    graph: LayerGraph | None = None
    weights: Arrays = field(default_factory=dict)
    file: ModelFile | None = None
    files: Mapping[str, ModelFile] = field(default_factory=dict)
    batch: int | None = None
    traits: Traits = field(default_factory=Traits)

    @property
    def exporters(self) -> dict[str, str]:
        """By target, who wrote the file it is given, where that is not the user's own."""
        return {target: file.exporter for target, file in self.files.items() if file.exporter}

    def file_for(self, target: str) -> ModelFile | None:
        """The file ``target`` runs; None where it runs the graph."""
        if target in self.files:
            return self.files[target]
        reads = self.file is not None and self.file.format in self.traits[target].reads
        return self.file if reads else None

    def reads_file(self, target: str) -> bool:
        return self.file_for(target) is not None

    def case(
        self,
        target: str,
        procedure: Procedure,
        inputs: Arrays,
        cotangents: Arrays | None = None,
        labels: Arrays | None = None,
        seed: int = 0,
    ) -> Case:
        """The case that has ``target`` run this model."""
        file = self.file_for(target)
        return Case(
            subject=file or self._graph(),
            procedure=procedure,
            inputs=inputs,
            labels=labels or {},
            weights={} if file else self.weights,
            cotangents=cotangents or {},
            seed=seed,
        )

    def own_case(self, target: str, procedure: Procedure, inputs: Arrays, seed: int = 0) -> Case:
        """The case of the model as the user has it, also where ``target`` is given a file exported from it.

        Such a file is in a cache and only its runtimes read it; whoever replays the case exports the model again.
        """
        case = self.case(target, procedure, inputs, seed=seed)
        if target in self.exporters and self.file is not None:
            return replace(case, subject=self.file, weights={})
        return case

    def needs_graph(self, target: str) -> bool:
        return self.graph is None and not self.reads_file(target)

    def _graph(self) -> LayerGraph:
        if self.graph is None:
            raise ValueError(f"{self.name} has not been imported yet")
        return self.graph


def ref_key(graph: LayerGraph, ref: Ref) -> str:
    """How a trace names the tensor a Ref points at; graph inputs keep their name."""
    for node in graph.nodes:
        if node.name == ref.node:
            return node.key if ref.index == 0 else f"{node.key}.{ref.index}"
    return ref.node


def node_inputs(graph: LayerGraph, node: Node, inputs: Arrays, activations: Mapping[str, Array]) -> list[Array]:
    """The arrays that flow into a node, from the graph's inputs and a trace.

    Raises:
        KeyError: if the trace lacks one of them.
    """
    keys = [ref_key(graph, ref) for ref in node.inputs]
    return [inputs[key] if key in inputs else activations[key] for key in keys]
