"""Layers of a model that run alone: a cotangent pulled back, or a layer of a file that no reference knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..core.case import Case, ModelFile
from ..core.graph import Node
from ..core.onnx.files import read_onnx
from ..core.onnx.layers import OnnxLayers
from ..core.onnx.model import parse_model
from ..core.oracle import Seen
from ..core.outcome import Outcome
from ..core.suspicion import Suspicion
from ..core.verdict import Stage
from .base import Asking
from .blaming import accusations, gradient_accusation
from .by_pairs import by_pairs
from .case_oracle import CaseOracle, Outcomes
from .measure.backward import GradientErrors, judge_pulled_back, worst_gradient
from .measure.exporters import accuse_exporters
from .measure.isolated_nodes import measure_node
from .measure.node_errors import NodeErrors
from .statements import BY_REFERENCE, BY_SUBGRADIENT, BY_VOTE, Statement, clears, convicts, doubts
from .subjects import exporters_of

#: Two alone cannot outvote each other.
_VOTERS = 3


class ReplayedOracle(CaseOracle):
    """Gradients by their reference; what has none by the vote of three targets or more, with exporters apart."""

    name = "replayed"

    def answers(self, seen: Seen, outcomes: Outcomes) -> Asking[Statement]:
        yield from ()
        completed = sum(outcome.completed for outcome in outcomes.values())
        in_file = isinstance(seen.case.subject, ModelFile)
        exported = _by_exporter(seen, outcomes) if in_file else None
        if exported is not None:
            return convicts(exported, BY_VOTE)
        if seen.case.cotangents and completed > 1:
            return _by_gradients(seen, outcomes)
        return _by_vote(seen, outcomes) if in_file and completed >= _VOTERS else by_pairs(outcomes)


def _by_gradients(seen: Seen, outcomes: Outcomes) -> Statement:
    """The backward pass of one layer, by its reference; without one, three targets or more decide."""
    found = judge_pulled_back(seen.case, outcomes, seen.traits)
    accusation = gradient_accusation(found, seen.traits)
    if accusation is None:
        return _nobody(found.errors)
    answers = {target: outcome.trace.gradients for target, outcome in outcomes.items()}
    diagnosis = accusation.diagnosis
    worst = worst_gradient(answers, diagnosis.suspects)
    targets = tuple(outcomes)
    suspicion = Suspicion(accusation.kind, diagnosis, seen.case, targets, stage=Stage.BACKWARD, worst=worst)
    return convicts(suspicion, judged_gradients_by(found))


def judged_gradients_by(found: GradientErrors) -> str:
    """Where the targets differ at a kink and all of them are right, that is what judged them."""
    return BY_SUBGRADIENT if found.free else found.errors.judged_by


def _nobody(errors: NodeErrors) -> Statement:
    if errors.judged_by == BY_REFERENCE and any(error > errors.limit for error in errors.errors.values()):
        return doubts("all targets agree with each other, and not with the reference")
    if not errors.errors:
        return doubts("its numbers are beyond what the targets compute in")
    if errors.judged_by == "nothing" and errors.mutual > errors.limit:
        return doubts("gradients are judged by three targets or more")
    return clears(errors.judged_by)


def _by_vote(seen: Seen, outcomes: Outcomes) -> Statement:
    """A layer of a file that no reference knows, run alone: three targets or more decide."""
    errors = _errors_of(seen, outcomes)
    found = accusations([errors], seen.traits)
    if not found:
        key = seen.case.procedure.nodes[0]
        disputed = f"the targets do not agree on {key}, and no two against the others"
        return doubts(disputed) if errors.disputed else clears(errors.judged_by)
    (accusation,) = found
    diagnosis = accusation.diagnosis
    if not _is_onnx(seen.case):
        diagnosis = replace(diagnosis, api=None)  # what kind of layer it is stands in the file alone
    return convicts(Suspicion(accusation.kind, diagnosis, seen.case, tuple(outcomes)), errors.judged_by)


def _by_exporter(seen: Seen, outcomes: Outcomes) -> Suspicion | None:
    """Runtimes that agree with each other on the exported file, and not with the original."""
    exporters = exporters_of(seen)
    found = accuse_exporters([_errors_of(seen, outcomes)], exporters) if exporters else []
    if not found:
        return None
    return Suspicion(found[0].kind, replace(found[0].diagnosis, api=None), seen.case, tuple(outcomes))


def _errors_of(seen: Seen, outcomes: Mapping[str, Outcome]) -> NodeErrors:
    case = seen.case
    return measure_node(_node(case), list(case.inputs.values()), case.weights, outcomes, seen.traits)


def _is_onnx(case: Case) -> bool:
    return isinstance(case.subject, ModelFile) and case.subject.format == "onnx"


def _node(case: Case) -> Node:
    assert isinstance(case.subject, ModelFile)
    key, path = case.procedure.nodes[0], Path(case.subject.path)
    if not _is_onnx(case):
        return Node(key.partition("#")[0], key.partition("#")[0], ())
    graph = OnnxLayers(parse_model(read_onnx(path).data).graph).graph(path.stem)
    return next(node for node in graph.nodes if node.key == key)
