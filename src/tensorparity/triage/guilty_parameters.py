"""Which parameters of a finding's layer are guilty: causal testing (``oracles/causal``) of what was reduced."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from ..core.case import Case
from ..core.endings import DEADLY
from ..core.engine import Ask
from ..core.errors import TensorParityError
from ..core.evidence import Evidence, observed
from ..core.finding import Class
from ..core.graph import LayerGraph
from ..core.place import Place
from ..core.procedure import Goal
from ..core.rows import some_rows
from ..core.suspicion import Suspicion
from ..core.verdict import Kind
from ..operators.catalogue import has_layer, layer
from ..operators.reference.evaluate import count_products
from ..oracles.causal import CAUSAL, PLACES, layer_alone, trials_of
from .examine import Examiner

#: The evidence of which parameters are guilty.
GUILTY_PARAMETERS = "guilty-parameters"
#: Rows of an original that its layer is tried on, and what the reference may compute to come to that layer.
_ROWS, _MOST_PRODUCTS = 4, 1 << 26


def with_guilty_parameters(examiner: Examiner, suspicion: Suspicion, original: Suspicion | None = None) -> Suspicion:
    """The suspicion with evidence of which parameters of its layer are guilty; as it is where it names no layer.

    Args:
        original: as it was found. Its layer is asked where reduction left too little input for other values.
    """
    if not _has_guilty_layer(suspicion):
        return suspicion
    if original is not None and (larger := _larger(suspicion, original)) is not None:
        found = with_places(suspicion, _places(examiner, larger))
        if found is not suspicion:
            return found
    return with_places(suspicion, _places(examiner, suspicion))


class AsFound:
    """Names guilty parameters of what nobody reduced, while there is time for it.

    Args:
        seconds: for all of a run: values are tried on layers as they were found, which may be large.
    """

    def __init__(self, examiner: Examiner, seconds: float = 30.0) -> None:
        self._examiner, self._left = examiner, seconds

    def of(self, suspicion: Suspicion) -> Suspicion:
        """The suspicion with what its layer, alone and on few rows, says of its parameters."""
        if (
            self._left <= 0
            or suspicion.kind in DEADLY
            or guilty_evidence(suspicion)
            or not _has_guilty_layer(suspicion)
        ):
            return suspicion
        began = time.monotonic()
        try:
            return self._asked(suspicion)
        except TensorParityError:  # what was confirmed is filed, whatever its parameters are
            return suspicion
        finally:
            self._left -= time.monotonic() - began

    def _asked(self, suspicion: Suspicion) -> Suspicion:
        case = suspicion.case
        assert isinstance(case.subject, LayerGraph)
        if len(case.subject.nodes) > 1:
            if case.procedure.goal is not Goal.FORWARD or count_products(case.subject) > _MOST_PRODUCTS:
                return suspicion
            case = layer_alone(some_rows(case, 0, _ROWS), suspicion.diagnosis.node or "") or case
        if len(case.subject.nodes) > 1:  # type: ignore[union-attr]
            return suspicion
        return with_places(suspicion, _places(self._examiner, replace(suspicion, case=case)))


def guilty_evidence(suspicion: Suspicion) -> Evidence | None:
    """What was said of guilty parameters, if anything was."""
    said = (one for one in suspicion.diagnosis.evidence if isinstance(one, Evidence) and one.code == GUILTY_PARAMETERS)
    return next(said, None)


def like(suspicion: Suspicion, other: Suspicion) -> Suspicion:
    """The suspicion with what was said of the guilty parameters of another one, of whose layer it is."""
    said = guilty_evidence(other)
    if said is None or guilty_evidence(suspicion) is not None:
        return suspicion
    if suspicion.diagnosis.api != other.diagnosis.api:
        said = observed("guilty-parameters", **{**said.data, "layer": other.diagnosis.api})
    diagnosis = suspicion.diagnosis
    return replace(suspicion, diagnosis=replace(diagnosis, evidence=(*diagnosis.evidence, said)))


def _places(examiner: Examiner, suspicion: Suspicion) -> list[Place]:
    (found,) = examiner.examine([Ask(suspicion.case, _enough_targets(suspicion), (CAUSAL,))])
    return [place for place in found.judged.facts.get(PLACES, ()) if place.node == suspicion.diagnosis.node]


def _larger(suspicion: Suspicion, original: Suspicion) -> Suspicion | None:
    """The layer as it was found, alone and on few rows; None where the reduced one takes as many other parameters."""
    graph, key = original.case.subject, original.diagnosis.node
    if not (isinstance(graph, LayerGraph) and key and original.case.procedure.goal is Goal.FORWARD):
        return None
    if suspicion.case is original.case or count_products(graph) > _MOST_PRODUCTS:
        return None
    small = layer_alone(suspicion.case, suspicion.diagnosis.node or "")
    large = layer_alone(some_rows(original.case, 0, _ROWS), key)
    if small is None or large is None or not _parameters_tried(large) > _parameters_tried(small):
        return None
    return replace(original, case=large)


def _parameters_tried(case: Case) -> set[str]:
    return {trial.parameter for trial in trials_of(case)}


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
    tried = next((place.tried for place in places if place.tried), ())
    fails = [{"parameter": one.parameter, "value": one.value} for one in places[0].failing] if places else []
    return observed("guilty-parameters", guilty=guilty, tried=len(tried), fails=fails)


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
