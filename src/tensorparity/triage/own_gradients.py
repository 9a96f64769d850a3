"""One target's gradients held against themselves: a layer's on what flowed into it and what was pulled back to it.

Gradients of two targets part in a network for two reasons: somebody pulled one back wrongly, or rounding was carried
along and grew. On a target's own numbers only the first is left, so no second target has to be right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.arrays import Array, dtype_name, unit_roundoff
from ..core.case import Case
from ..core.channels import is_finite
from ..core.graph import LayerGraph, Node
from ..core.model import node_inputs, ref_key
from ..core.outcome import Outcome
from ..operators.rounding import K
from ..operators.spec import Evaluation
from .backward import Differentiated, layer_function
from .kinks import KinkTest, examine_gradients
from .steps import judge_loss_gradient

#: One-sided differences of a larger layer take too long for what may be rounding after all.
_MOST_NUMBERS = 20_000


def own_gradients(case: Case, node: Node, outcome: Outcome) -> KinkTest | None:
    """What the reference says of a target's gradients through one node of a graph; None where nothing can be said.

    Only gradients that come from this node alone count: of an input that nobody else reads, of a weight that no other
    call has.
    """
    assert isinstance(case.subject, LayerGraph)
    graph, gradients = case.subject, outcome.trace.gradients
    cotangent = gradients.get(f"node:{node.key}")
    try:
        given = node_inputs(graph, node, case.inputs, outcome.trace.nodes)
    except KeyError:
        return None
    if cotangent is None or f"{node.key}.1" in outcome.trace.nodes or not _all_finite([cotangent, *given]):
        return None
    function = layer_function(node, given, case.weights, cotangent, training=case.procedure.training)
    names = _names(graph, node, case)
    answers = {own: gradients[name] for own, name in names.items() if name in gradients}
    if function is None or not answers or sum(array.size for array in answers.values()) > _MOST_NUMBERS:
        return None
    function = _by(function, answers)
    if any(answers[name].shape != array.shape for name, array in function.arguments.items()):
        return None
    roundoff = max(unit_roundoff(dtype_name(array)) for array in answers.values())
    at = [array.astype(np.float64) for array in function.arguments.values()]
    pulled = {outcome.target: [answers[name] for name in function.arguments]}
    test = examine_gradients(function.terms, at, pulled, roundoff, np.random.default_rng(0), disputed=False)
    return test if function.arguments and test.measured else None


def explains(test: KinkTest | None) -> bool:
    """Whether a target is right about the gradients on its own numbers; nothing is explained by what is not known."""
    return test is not None and all(error <= K for error in test.errors.values())


def explains_loss(case: Case, outcome: Outcome) -> bool:
    """Whether a target's gradient of the loss is right on the predictions it made itself."""
    found = judge_loss_gradient(case, {outcome.target: outcome})
    return found is not None and found.errors.judged_by == "reference" and explains(found.test)


def _names(graph: LayerGraph, node: Node, case: Case) -> dict[str, str]:
    """By the name that the gradient has for the node alone, the one it has in the whole; only the node's own."""
    found: dict[str, str] = {}
    read = [ref_key(graph, ref) for other in graph.nodes for ref in other.inputs]
    ends = {ref_key(graph, ref) for ref in graph.outputs}
    for index, ref in enumerate(node.inputs):
        key = ref_key(graph, ref)
        if read.count(key) == 1 and key not in ends:
            found[f"input:{node.key}/{index}"] = f"input:{key}" if key in case.inputs else f"node:{key}"
    if sum(other.layer == node.layer for other in graph.nodes) == 1:
        found |= {f"weight:{name}": f"weight:{name}" for name in case.weights if name.startswith(f"{node.layer}/")}
    return found


def _by(function: Differentiated, answers: dict[str, Array]) -> Differentiated:
    """By the arguments that are answered for; the others stay where they are."""
    kept = {name: array for name, array in function.arguments.items() if name in answers}

    def terms(arrays: Sequence[Array]) -> Evaluation:
        at = {**function.arguments, **dict(zip(kept, arrays, strict=True))}
        return function.terms(list(at.values()))

    return Differentiated(terms, kept)


def _all_finite(arrays: Sequence[Array]) -> bool:
    return all(bool(is_finite(array).all()) for array in arrays)
