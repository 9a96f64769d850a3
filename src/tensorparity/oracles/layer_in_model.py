"""Layers of a model, each run alone where it stands: in the user's file, in one exported from it, or in its graph.

The nodes are those of the model itself, so that the layer has its name and its reference, also where it is part of an
opaque file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..core.arrays import Array, Arrays
from ..core.graph import Node
from ..core.oracle import Judged, Seen
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement, Stage, Verdict
from .base import Steps, Stepwise
from .measure.backward import accuse_gradients
from .measure.diagnose import Accusation, accuse
from .measure.exporters import accuse_exporters, doubt, is_settled_by_exporter
from .measure.gradients import judge_replayed
from .measure.isolated_nodes import measure_node
from .measure.node_errors import NodeErrors
from .subjects import exporters_of
from .whole.sight import layers_of


class LayerInModel(Stepwise):
    """Judges a replay (``Goal.REPLAY``) of a model file or of a graph."""

    settings: ClassVar[tuple[str, ...]] = ()

    def steps(self, seen: Seen) -> Steps:
        read = yield from layers_of(seen)
        if isinstance(read, str):
            reason = f"the layers could not be read: {read}"
            return Judged((Verdict(Judgement.UNDECIDED, seen.targets, reason),))
        graph, weights = read
        nodes = [node for node in graph.nodes if node.key in seen.case.procedure.nodes]
        if seen.case.cotangents:
            return _by_gradients(seen, nodes, weights)
        measured = [measure_node(node, _inputs_of_node(seen, node), weights, seen.own, seen.traits) for node in nodes]
        return _judge_errors(seen, measured)


def _inputs_of_node(seen: Seen, node: Node) -> list[Array]:
    return [seen.case.inputs[f"{node.key}/{index}"] for index in range(len(node.inputs))]


def _by_gradients(seen: Seen, nodes: Sequence[Node], weights: Arrays) -> Judged:
    """The backward pass of each, as in training."""
    cotangents, traits = seen.case.cotangents, seen.traits
    replayed = [
        judge_replayed(node, _inputs_of_node(seen, node), cotangents[node.key], weights, seen.completed, traits)
        for node in nodes
    ]
    families = traits.families(seen.targets)
    accused = [found for item in replayed if (found := accuse_gradients(item, families)) is not None]
    disputed = [item.errors.node.layer for item in replayed if item.errors.disputed]
    return _judgement_of(seen, accused, disputed, Stage.BACKWARD)


def _judge_errors(seen: Seen, measured: list[NodeErrors]) -> Judged:
    exporters = exporters_of(seen)
    own = [errors for errors in measured if not is_settled_by_exporter(errors, exporters)]
    accused = [doubt(item, exporters) for item in accuse(own, seen.traits.families(seen.targets))]
    accused += accuse_exporters(measured, exporters)
    disputed = [errors.node.layer for errors in measured if errors.disputed]
    return _judgement_of(seen, accused, disputed, Stage.FORWARD)


def _judgement_of(seen: Seen, accused: Sequence[Accusation], disputed: Sequence[str], stage: Stage) -> Judged:
    suspicions = tuple(Suspicion(item.kind, item.diagnosis, seen.case, seen.targets, stage=stage) for item in accused)
    if suspicions:
        reasons = [Verdict(Judgement.FAIL, seen.targets, s.diagnosis.node or "", kind=s.kind) for s in suspicions]
        return Judged(tuple(reasons), suspicions)
    if disputed:
        return Judged((Verdict(Judgement.UNDECIDED, seen.targets, f"the targets do not agree on {disputed[0]}"),))
    return Judged((Verdict(Judgement.PASS, seen.targets, "every layer agrees alone"),))
