"""Which parameters of a finding's layer are guilty: causal testing (``oracles/causal``) of what was reduced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..core.engine import Ask
from ..core.evidence import Evidence, observed
from ..core.finding import Class
from ..core.graph import LayerGraph
from ..core.place import Place
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from ..operators.catalogue import has_layer, layer
from ..oracles.causal import CAUSAL, PLACES
from .examine import Examiner


def with_guilty_parameters(examiner: Examiner, suspicion: Suspicion) -> Suspicion:
    """The suspicion with evidence of which parameters of its layer are guilty; as it is where it names no layer."""
    if not _has_guilty_layer(suspicion):
        return suspicion
    (found,) = examiner.examine([Ask(suspicion.case, _enough_targets(suspicion), (CAUSAL,))])
    places = [place for place in found.judged.facts.get(PLACES, ()) if place.node == suspicion.diagnosis.node]
    return with_places(suspicion, places)


def with_places(suspicion: Suspicion, places: Sequence[Place]) -> Suspicion:
    """The suspicion with what a localizer says of its layer."""
    if not places or not any(place.tried for place in places):
        return suspicion
    diagnosis = suspicion.diagnosis
    said = evidence_of(places)
    return replace(suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, said)))


def evidence_of(places: Sequence[Place]) -> Evidence:
    """What is said of the places of one layer."""
    guilty = [{"parameter": place.parameter, "values": place.clearing} for place in places if place.parameter]
    return observed("guilty-parameters", guilty=guilty, tried=sum(len(place.tried) for place in places))


def _has_guilty_layer(suspicion: Suspicion) -> bool:
    """A defect of a layer whose value is not itself what is wrong."""
    graph, diagnosis = suspicion.case.subject, suspicion.diagnosis
    named = diagnosis.klass is Class.DEFECT and diagnosis.node is not None and isinstance(graph, LayerGraph)
    return named and suspicion.kind is not Kind.ACCEPTS_INVALID


def _enough_targets(suspicion: Suspicion) -> tuple[str, ...]:
    """The accused and one that is right; all where only a vote can tell."""
    graph = suspicion.case.subject
    assert isinstance(graph, LayerGraph)
    voted = any(has_layer(node.op) and layer(node.op).voted for node in graph.nodes)
    accused = [target for target in suspicion.targets if target in suspicion.diagnosis.suspects]
    others = [target for target in suspicion.targets if target not in accused]
    return suspicion.targets if voted or not accused else (*accused, *others[:1])
