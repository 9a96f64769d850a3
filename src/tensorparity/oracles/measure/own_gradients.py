"""One target's gradients held against themselves: a tensor's on what was pulled back to everything that reads it.

Gradients of two targets part in a network for two reasons: somebody pulled one back wrongly, or rounding was carried
along and grew. On a target's own numbers only the first is left, so no second target has to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from ...core.arrays import Array, dtype_name, unit_roundoff
from ...core.case import Case
from ...core.channels import is_finite
from ...core.graph import LayerGraph, Node
from ...core.model import node_inputs, ref_key
from ...core.outcome import Outcome
from ...core.policies import policy_named
from ...core.traits import Traits
from ...operators.reference.penalties import has_unknown_penalty, penalizes_outputs, weight_factors
from ...operators.reference.rounding import K
from ...operators.spec import Evaluation, ShapeError
from .backward import joined_terms, layer_function
from .forms import outputs_of
from .steps import judge_loss_gradient
from .subgradients import SubgradientLimits, examine_gradients

#: One-sided differences of larger layers take too long for what may be rounding after all.
_MOST_NUMBERS = 20_000

#: A doubt is about what others gave otherwise: there a wrong gradient shows, and enough is enough.
_FEW = SubgradientLimits(coordinates=16, ties=8, until_wrong=True)

_Part = Callable[[Array], Evaluation]


class _Unknown(Exception):
    """Something on the way has no reference, or was not recorded."""


def own_error(
    case: Case,
    name: str,
    outcome: Outcome,
    beside: Sequence[Array] = (),
    veiled: Collection[str] = (),
) -> float | None:
    """A target's gradient of a tensor or weight against the reference, on its own numbers; None if nothing can be said.

    Args:
        name: as a trace names it: ``node:KEY``, ``input:NAME`` or ``weight:LAYER/WEIGHT``.
        beside: what others gave for it, who may have had other numbers: where they differ most is looked at first.
        veiled: nodes that get more than their inputs, masks or states; the reference of one node knows nothing of it.

    Returns:
        The error in units of which K are explained.
    """
    assert isinstance(case.subject, LayerGraph)
    gradient = outcome.trace.gradients.get(name)
    try:
        at = _value(case, name, outcome)
        readers = _readers(case.subject, name, outcome)
        if any(node.key in veiled for node in readers):
            return None
        parts = [_part(case, name, node, outcome) for node in readers]
        parts += _penalty_of_weight(case.subject, name)
    except (KeyError, ShapeError, _Unknown):
        return None
    usable = parts and gradient is not None and gradient.shape == at.shape and at.size <= _MOST_NUMBERS
    if gradient is None or not usable or not is_finite(at).all():
        return None

    def terms(arrays: Sequence[Array]) -> Evaluation:
        return joined_terms([part(arrays[0]) for part in parts])

    others = [[array] for array in beside if array.shape == at.shape]
    policy = policy_named(case.procedure.dtype)
    rng, roundoff = np.random.default_rng(0), max(policy.roundoff, unit_roundoff(dtype_name(gradient)))
    test = examine_gradients(
        terms,
        [at.astype(np.float64)],
        {outcome.target: [gradient]},
        roundoff,
        rng,
        disputed=bool(others),
        beside=others,
        limits=_FEW if others else None,
    )
    return test.errors[outcome.target] if test.measured else None


def is_right(
    case: Case, name: str, outcome: Outcome, beside: Sequence[Array] = (), veiled: Collection[str] = ()
) -> bool:
    """Whether it is known that a target's gradient is right on its own numbers."""
    error = own_error(case, name, outcome, beside, veiled)
    return error is not None and error <= K


def loss_is_right(case: Case, outcome: Outcome, traits: Traits) -> bool:
    """Whether a target's gradient of the loss is right on the predictions it made itself."""
    found = judge_loss_gradient(case, {outcome.target: outcome}, traits)
    if found is None or found.test is None:
        return False
    return all(error <= K for error in found.test.errors.values())


def _value(case: Case, name: str, outcome: Outcome) -> Array:
    kind, _, key = name.partition(":")
    if kind == "weight":
        return case.weights[key]
    return case.inputs[key] if kind == "input" else outcome.trace.nodes[key]


def _readers(graph: LayerGraph, name: str, outcome: Outcome) -> list[Node]:
    """The nodes from which this gradient comes, and nothing else.

    Raises:
        _Unknown: if the loss reads the tensor as well, or what is pulled back to a reader is not known.
    """
    kind, _, key = name.partition(":")
    ends = {ref_key(graph, ref) for ref in graph.outputs}
    if key in ends:
        raise _Unknown
    read = ends | {ref_key(graph, ref) for node in graph.nodes for ref in node.inputs}
    found: list[Node] = []
    for node in graph.nodes:
        if not (node.layer == key.partition("/")[0] if kind == "weight" else _reads(graph, node, key)):
            continue
        first, *others = outputs_of(node, outcome.trace.nodes) or [node.key]
        if has_unknown_penalty(node):
            raise _Unknown
        pulled = f"node:{first}" in outcome.trace.gradients
        # where outputs depend on each other, the gradient of one holds what comes through another as well
        if any(output in read for output in others) or (first in ends and not pulled):
            raise _Unknown
        if pulled or penalizes_outputs(node):  # else nothing behind it reaches the loss
            found.append(node)
    return found


def _penalty_of_weight(graph: LayerGraph, name: str) -> list[_Part]:
    """What a layer adds to the loss for its weight; of its outputs it is in what its readers pull back.

    Raises:
        ShapeError: if there is no formula of it.
    """
    kind, _, key = name.partition(":")
    if kind != "weight":
        return []
    layer, _, weight = key.partition("/")
    factors = weight_factors(next(node for node in graph.nodes if node.layer == layer)).get(weight)
    return [factors.of] if factors else []


def _reads(graph: LayerGraph, node: Node, key: str) -> bool:
    return any(ref_key(graph, ref) == key for ref in node.inputs)


def _part(case: Case, name: str, node: Node, outcome: Outcome) -> _Part:
    """What one reader adds to the loss, to first order, as a function of the tensor it reads."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    given = node_inputs(graph, node, case.inputs, outcome.trace.nodes)
    cotangent = outcome.trace.gradients.get(f"node:{node.key}")
    if cotangent is None:  # nothing reads it but its penalty
        cotangent = np.zeros_like(outcome.trace.nodes[node.key])
    if not all(is_finite(array).all() for array in (*given, cotangent)):
        raise _Unknown
    training, policy = case.procedure.training, policy_named(case.procedure.dtype)
    function = layer_function(node, given, case.weights, cotangent, training=training, policy=policy, penalized=True)
    kind, _, key = name.partition(":")
    places = [index for index, ref in enumerate(node.inputs) if ref_key(graph, ref) == key]
    names = [name] if kind == "weight" else [f"input:{node.key}/{index}" for index in places]
    if function is None or not all(own in function.arguments for own in names):
        raise _Unknown
    arguments, whole = function.arguments, function.terms

    def part(array: Array) -> Evaluation:
        return whole(list({**arguments, **dict.fromkeys(names, array)}.values()))

    return part
