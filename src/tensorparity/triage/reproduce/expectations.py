"""What a reproducer may claim: the reference's answer where there is one, else what the others agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array, Arrays, dtype_name, is_floating, unit_roundoff
from ...core.case import ApiCall, Case
from ...core.channels import distance, is_exact, magnitude
from ...core.errors import TensorParityError
from ...core.graph import LayerGraph, Node, Ref
from ...core.outcome import Outcome
from ...core.policies import gradients_as_computed, policy_named
from ...core.procedure import Goal
from ...core.suspicion import Suspicion
from ...core.verdict import Kind
from ...operators.catalogue import has_layer, has_reference, layer
from ...operators.functions.api import formula_of
from ...operators.reference.evaluate import evaluate_batches
from ...operators.reference.rounding import K, underflow
from ...operators.spec import Evaluation, ShapeError
from ...oracles.function_alone import FUNCTION, truth_of
from ...oracles.measure.forms import announced_shape, as_announced
from ...oracles.measure.isolated_nodes import odd_dtype
from ...oracles.measure.node_errors import VOTE_MARGIN
from ...oracles.measure.votes import accumulated_roundings
from ...oracles.references import references
from ...targets.catalogue import traits_of
from .claim import Claim
from .reference_claims import claim_by_reference
from .training_claims import claim_by_formula

#: Of what ends, nothing is claimed but that it should not.
_ENDINGS = (Kind.ERROR, Kind.CRASH, Kind.HANG)
_POLICY = "the dtype policy that the layer runs under"
_ANNOUNCED = "what the library says when it builds the model"


def claim_of(suspicion: Suspicion, outcomes: Mapping[str, Outcome], suspect: str) -> Claim | None:
    """The array that is most wrong on the suspect, and what it should be; None where nobody knows."""
    case, own = suspicion.case, outcomes.get(suspect)
    if own is None or suspicion.kind in _ENDINGS:
        return None
    if suspicion.kind in (Kind.SHAPE, Kind.DTYPE) and (form := _by_form(suspicion, own)):
        return form
    if case.procedure.goal in (Goal.FORWARD, Goal.CALL):
        truth = _truth(suspicion) if not case.procedure.training else _in_training(case)
        # the reference's bound is the last layer's alone; rounding arrives from the others, too
        several = isinstance(case.subject, LayerGraph) and len(case.subject.nodes) > 1
        claims = [_by_reference(name, value, own, _formula(case), several) for name, value in truth.items()]
        if claims:
            return max(claims, key=_wrongness)
    by_formula = claim_by_formula(case, suspicion.stage, own)
    if by_formula is not None:
        return by_formula
    others = [
        outcomes[target] for target in outcomes if target not in suspicion.diagnosis.suspects and target != suspect
    ]
    policy = policy_named(case.procedure.dtype if isinstance(case.subject, LayerGraph) else None)
    losses = policy.loss if isinstance(case.subject, LayerGraph) else case.procedure.dtype or "float32"
    completed = {outcome.target: outcome for outcome in others if outcome.completed}
    answers = gradients_as_computed(completed, policy, traits_of(completed))
    return _by_others(own, list(answers.values()), losses)


def _truth(suspicion: Suspicion) -> dict[str, Evaluation]:
    return truth_of(suspicion.case) if suspicion.oracle == FUNCTION else references(suspicion.case)


def _in_training(case: Case) -> dict[str, Evaluation]:
    """The true outputs of layers in training, by name; nothing where one of them draws, or has no formula."""
    graph, procedure = case.subject, case.procedure
    if not isinstance(graph, LayerGraph) or any(not has_reference(node.op) or _draws(node) for node in graph.nodes):
        return {}
    try:
        found = evaluate_batches(
            graph, case.inputs, case.weights, procedure.batch_size, training=True, dtype=procedure.dtype
        )
    except (TensorParityError, ShapeError):
        return {}
    return {name: found[graph.node(ref.node).key][ref.index] for ref, (_, name) in _output_places(graph).items()}


def _draws(node: Node) -> bool:
    spec = layer(node.op)
    return spec.draws(spec.complete(node.params))


def _by_form(suspicion: Suspicion, own: Outcome) -> Claim | None:
    """The shape or dtype that was announced; a call's dtype is that of its inputs."""
    case, kind = suspicion.case, suspicion.kind
    if isinstance(case.subject, ApiCall):
        observed = own.outputs.get("0")
        floats = [name for name in map(dtype_name, case.inputs.values()) if is_floating(name)]
        if observed is None or kind is not Kind.DTYPE or not floats:
            return None
        wanted = case.procedure.dtype or floats[0]
        claim = Claim("outputs", "0", observed, 0.0, "the dtype of the inputs", _formula(case), observed, dtype=wanted)
        return replace(claim, stated=True)
    names = _output_names(case)
    traced = replace(own, trace=replace(own.trace, nodes={**own.trace.nodes, **_by_key(own.outputs, names)}))
    for key, form in own.trace.symbolic.items():
        if as_announced(key, traced) is kind:
            array = traced.trace.nodes[key]
            shape = announced_shape(array.shape, form.shape)
            expected = array if kind is Kind.DTYPE else np.broadcast_to(np.zeros((), array.dtype), shape)
            name = names.get(key, key)
            return Claim("outputs", name, expected, 0.0, _ANNOUNCED, observed=array, dtype=form.dtype, stated=True)
    return _by_policy(case, own) if kind is Kind.DTYPE else None


def _by_policy(case: Case, own: Outcome) -> Claim | None:
    """The dtype of the policy that the layer runs under, of an output that has another."""
    policy = policy_named(case.procedure.dtype)
    for name, array in own.outputs.items():
        if odd_dtype([array], policy, traits_of([own.target])[own.target]):
            return Claim("outputs", name, array, 0.0, _POLICY, observed=array, dtype=policy.compute, stated=True)
    return None


def _output_names(case: Case) -> dict[str, str]:
    """What the outputs of a graph are called, by their keys in a trace."""
    return dict(_output_places(case.subject).values()) if isinstance(case.subject, LayerGraph) else {}


def _output_places(graph: LayerGraph) -> dict[Ref, tuple[str, str]]:
    """The key of every output in a trace, and its name."""
    keys = {node.name: node.key for node in graph.nodes}
    parts = {ref: f".{ref.index}" if ref.index else "" for ref in graph.outputs if ref.node in keys}
    return {ref: (keys[ref.node] + part, ref.node + part) for ref, part in parts.items()}


def _by_key(outputs: Arrays, names: Mapping[str, str]) -> dict[str, Array]:
    return {key: outputs[name] for key, name in names.items() if name in outputs}


def _wrongness(claim: Claim) -> float:
    if claim.off is None or np.isnan(claim.off):
        return float("inf")
    return claim.off / max(claim.tolerance, 1e-300)


def _by_reference(name: str, truth: Evaluation, own: Outcome, formula: str, several: bool) -> Claim:
    """Of several layers nothing below the vote's tolerance is claimed."""
    observed = own.outputs.get(name)
    dtype = dtype_name(observed) if observed is not None else "float32"
    least = _vote_tolerance(truth.value, dtype if is_floating(dtype) else "float64") if several else 0.0
    return claim_by_reference("outputs", name, truth, observed, formula, least)


def _formula(case: Case) -> str:
    if isinstance(case.subject, ApiCall):
        return formula_of(case.subject.api)
    graph = case.subject
    if isinstance(graph, LayerGraph) and len(graph.nodes) == 1 and has_layer(graph.nodes[0].op):
        spec = layer(graph.nodes[0].op)
        # the sentence of a layer that computes something else in training is about inference
        return "" if case.procedure.training and spec.training is not None else spec.formula
    return ""


def _by_others(own: Outcome, others: Sequence[Outcome], losses: str) -> Claim | None:
    """What most of the others gave, array by array; nothing where no majority of them agrees.

    Args:
        losses: the dtype that losses are computed in; they come as plain numbers.
    """
    mine, theirs = _groups(own), {other.target: _groups(other) for other in others}
    places = dict.fromkeys((group, name) for groups in theirs.values() for group in groups for name in groups[group])
    claims = []
    for group, name in places:
        answers = {target: groups[group][name] for target, groups in theirs.items() if name in groups[group]}
        agreeing = _majority(answers, losses if group == "losses" else None)
        if not agreeing:
            continue
        expected, observed = answers[agreeing[0]], mine[group].get(name)
        allowed = _vote_tolerance(expected, losses if group == "losses" else dtype_name(expected))
        if observed is None or not _agree(observed, expected, allowed):
            claims.append(Claim(group, name, expected, allowed, " and ".join(agreeing), observed=observed))
    first = min((_step(claim) for claim in claims), default=0)
    return max((claim for claim in claims if _step(claim) == first), key=_wrongness, default=None)


def _majority(answers: Mapping[str, Array], dtype: str | None) -> list[str]:
    """The targets that agree with each other, if more implementations do than do not."""
    traits = traits_of(answers)
    for target, array in answers.items():
        allowed = _vote_tolerance(array, dtype or dtype_name(array))
        agreeing = [other for other, given in answers.items() if other == target or _agree(given, array, allowed)]
        against = traits.implementations(other for other in answers if other not in agreeing)
        if len(traits.implementations(agreeing)) > len(against):
            return agreeing
    return []


def _agree(given: Array, expected: Array, allowed: float) -> bool:
    if given.shape != expected.shape:
        return False
    apart = float(distance(given, expected).max(initial=0.0))
    return apart <= allowed


def _step(claim: Claim) -> int:
    """The step of a training that a claim is about: the first that differs is the one to show."""
    step = claim.name.partition(":")[0]
    return int(step) if claim.group in ("losses", "weights") and step.isdigit() else 0


def _vote_tolerance(expected: Array, dtype: str) -> float:
    """As the vote measures: by the scale of the whole array, in the dtype under test. Of what is exact, nothing."""
    if is_exact(expected) or not is_floating(dtype):
        return underflow("float32")
    numbers = magnitude(expected)
    size = float(numbers[np.isfinite(numbers)].max(initial=0.0))
    return K * VOTE_MARGIN * (1.0 + accumulated_roundings(dtype)) * unit_roundoff(dtype) * size + underflow(dtype)


def _groups(outcome: Outcome) -> dict[str, dict[str, Array]]:
    trace = outcome.trace
    losses = trace.losses or ((trace.loss,) if trace.loss is not None else ())
    return {
        "losses": {str(step): np.asarray(value, np.float64) for step, value in enumerate(losses)},
        "outputs": dict(outcome.outputs or trace.nodes),  # a replay of nodes answers in its trace
        "gradients": {name: array for name, array in trace.gradients.items() if not name.startswith("node:")},
        "weights": dict(trace.weights),
    }
