"""No layer alone is guilty: is it the file that an exporter wrote, or what a target makes of the whole?"""

from __future__ import annotations

from collections.abc import Mapping

from ...core.arrays import Arrays
from ...core.case import Case
from ...core.graph import LayerGraph
from ...core.outcome import Outcome
from ...core.procedure import Procedure
from ...core.suspicion import Suspicion
from ...core.verdict import Kind
from ..kinds import oracle_of
from ..measure.discontinuity import downstream_of_discontinuity
from ..measure.exporters import doubts_about, outputs_apart
from ..measure.fusion import AMPLIFIED, Apart, guilty_of_fusion, relative_difference, shortest_stretch
from .sight import Asking, Found, ModelPlace, Sight


def blame_exporter(at: Sight, few: Arrays) -> list[Found]:
    """Do runtimes of an exported file agree with each other, and not with the original?"""
    apart = outputs_apart(at.outcomes, at.exporters, relative_difference, AMPLIFIED, at.seen.traits)
    if apart is None:
        return []
    case = at.own_case(Procedure(), few)
    targets = (*apart.runtimes, *apart.originals)
    suspicion = Suspicion(Kind.INCONSISTENCY, apart.diagnosis(AMPLIFIED), case, targets)
    return [Found(suspicion, (ModelPlace(case, at.settings.oracle),))]


def blame_fusion(at: Sight, traces: Mapping[str, Outcome], few: Arrays, picked: list[int]) -> Asking[list[Found]]:
    """Layers agree one by one, outputs do not: does a target differ from its own step-by-step run?"""
    found: list[Found] = []
    stepping = stepping_outputs(at.graph, at.outcomes)
    for name in dict.fromkeys(name for trace in traces.values() for name in trace.outputs):
        if name in stepping:
            continue
        for apart in guilty_of_fusion(at.outcomes, traces, name, picked):
            found.append((yield from _find_fusion(at, apart, few, tuple(traces))))
    return found


def _find_fusion(at: Sight, apart: Apart, few: Arrays, targets: tuple[str, ...]) -> Asking[Found]:
    layers = Case(at.graph, inputs=few, weights=at.model.weights, seed=at.seen.case.seed)
    stretch = yield from shortest_stretch(layers, apart.target)
    diagnosis = apart.diagnosis(stretch, doubts_about(apart.target, at.exporters))
    whole = ModelPlace(at.own_case(Procedure(), few), at.settings.oracle)
    places = (ModelPlace(stretch.case, oracle_of(stretch.case)), whole) if stretch else (whole,)
    return Found(Suspicion(Kind.INCONSISTENCY, diagnosis, places[0].case, targets), places)


def stepping_outputs(graph: LayerGraph, outcomes: Mapping[str, Outcome]) -> set[str]:
    """Outputs behind a round, an arg max, a comparison: there a last bit makes a large difference (decision 13)."""
    keys = {node.name: node.key for node in graph.nodes}
    stepped = downstream_of_discontinuity(graph)
    names = next((outcome.outputs for outcome in outcomes.values() if outcome.completed), {})
    if len(names) != len(graph.outputs):
        return set()
    return {name for name, ref in zip(names, graph.outputs, strict=True) if keys.get(ref.node) in stepped}
