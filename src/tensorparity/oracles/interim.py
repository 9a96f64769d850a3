"""Single layers by the measure of the isolated replay."""

from __future__ import annotations

from dataclasses import replace

from ..core.graph import LayerGraph
from ..core.oracle import Judged, Seen, Setup
from ..core.outcome import Trace
from ..core.suspicion import Suspicion
from ..triage.diagnose import accuse
from ..triage.measuring import measure_node


class LayerAlone:
    """One layer, forward."""

    def __init__(self, setup: Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: Seen) -> Judged:
        graph = seen.case.subject
        assert isinstance(graph, LayerGraph)
        (node,) = graph.nodes
        outcomes = {
            target: replace(outcome, trace=Trace(nodes={node.key: array}))
            for target, outcome in seen.completed.items()
            if (array := outcome.outputs.get(node.name)) is not None
        }
        given = [seen.case.inputs[ref.node] for ref in node.inputs]
        errors = measure_node(node, given, seen.case.weights, outcomes, seen.traits)
        accused = accuse([errors], seen.traits.families(seen.targets))
        return Judged(suspicions=tuple(Suspicion(a.kind, a.diagnosis, seen.case, seen.targets) for a in accused))
