"""No layer differs alone: every two that follow each other, run as one (decision 6); then it is an interaction.

What a layer hands on beside its values, a mask or what it leaves to the next one to apply, shows in no layer alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.comparison import Comparison
from ...core.errors import TensorParityError
from ...core.evidence import observed
from ...core.graph import LayerGraph, Node
from ...core.oracle import Check
from ...core.outcome import Outcome
from ...core.suspicion import Suspicion
from ...core.verdict import Judgement, Kind
from ...operators.reference.evaluate import evaluate
from ...operators.spec import Evaluation, ShapeError
from ..measure.diagnose import Accusation, accuse
from ..measure.discontinuity import downstream_of_discontinuity
from ..measure.editing import graph_of, subgraph
from ..measure.fusion import AMPLIFIED, relative_difference
from ..measure.isolated_nodes import measure_outputs
from ..measure.votes import shared_code
from .runs import stepping_outputs
from .sight import Asking, Found, ModelPlace, Sight

#: Pairs that are run at most: each is a model of its own to every target.
_MOST_PAIRS = 64


def blame_adjacent_layers(at: Sight, few: Arrays, activations: Mapping[str, Array]) -> Asking[list[Found]]:
    """Who is wrong about two layers together, though right about either; nobody where nothing is left to explain."""
    stepping = stepping_outputs(at.graph, at.outcomes)
    if not any(_is_open(comparison) for comparison in at.comparisons if comparison.output not in stepping):
        return []
    whole = Case(at.graph, inputs=few, weights=at.model.weights, seed=at.seen.case.seed)
    cases = _pairs(whole, activations)
    answers = yield [Check(case, tuple(at.completed)) for case, _ in cases]
    found: list[Found] = []
    for (case, truth), answer in zip(cases, answers, strict=True):
        found += [_found(at, case, accusation) for accusation in _accused(at, case, truth, answer.outcomes)]
    if not found and cases:
        at.notes.append(
            f"no layer differs alone, and none of {len(cases)} pairs of adjacent layers does: an interaction of more"
        )
    return found[:1]


def _is_open(comparison: Comparison) -> bool:
    """Neither the outputs nor a layer decided it, and no rounding explains it."""
    verdict = comparison.verdict
    far = verdict.kind is Kind.NAN or (comparison.max_rel or 0.0) > AMPLIFIED
    return verdict.judgement is Judgement.UNDECIDED and far


def _pairs(whole: Case, activations: Mapping[str, Array]) -> list[tuple[Case, tuple[Evaluation, ...]]]:
    """Every layer with one that it reads, on what flowed in, and what the two compute; of graphs that can be cut."""
    graph = graph_of(whole)
    if graph is None or len(graph.nodes) < 2:
        return []
    values = {node.name: activations[node.key] for node in graph.nodes if node.key in activations}
    edges = [(before, node) for node in graph.nodes for before in graph.predecessors(node)]
    found = []
    for before, node in edges[:_MOST_PAIRS]:
        case = subgraph(whole, {before.name, node.name}, values)
        truth = _truth(case, node)
        if case is not None and truth is not None and not downstream_of_discontinuity(graph_of(case) or graph):
            found.append((case, truth))
    return found


def _truth(case: Case | None, node: Node) -> tuple[Evaluation, ...] | None:
    if case is None or not isinstance(case.subject, LayerGraph):
        return None
    try:
        last = case.subject.node(node.name)
        return evaluate(case.subject, case.inputs, case.weights)[last.key]
    except (KeyError, TensorParityError, ShapeError, ValueError):
        return None


def _accused(at: Sight, case: Case, truth: Sequence[Evaluation], outcomes: Mapping[str, Outcome]) -> list[Accusation]:
    """Whoever is beyond rounding of both layers, by so much that no rounding of the first explains it."""
    assert isinstance(case.subject, LayerGraph)
    node = case.subject.nodes[-1]
    answered = {
        target: [outcome.outputs[node.name]]
        for target, outcome in outcomes.items()
        if node.name in outcome.outputs and outcome.outputs[node.name].shape == truth[0].value.shape
    }
    far = [t for t, (output,) in answered.items() if relative_difference(output, truth[0].value) > AMPLIFIED]
    if not far or len(far) == len(answered):
        return []
    errors = replace(measure_outputs(node, answered, truth[:1]), judged_by="reference")
    errors = replace(errors, implementations=shared_code(errors.errors, at.seen.traits, node.op))
    return [item for item in accuse([errors], at.families(list(answered))) if set(item.diagnosis.suspects) & set(far)]


def _found(at: Sight, case: Case, accusation: Accusation) -> Found:
    assert isinstance(case.subject, LayerGraph)
    layers = [node.layer for node in case.subject.nodes]
    diagnosis = accusation.diagnosis
    diagnosis = replace(diagnosis, evidence=(*diagnosis.evidence, observed("adjacent-layers", layers=layers)))
    suspicion = Suspicion(accusation.kind, diagnosis, case, tuple(at.completed))
    return Found(suspicion, (ModelPlace(case, at.settings.oracle),))
