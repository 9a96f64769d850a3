"""What the layers of a case add to its loss, on a target's own numbers."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.arrays import Array, Arrays
from ...core.case import Case
from ...core.errors import DataError
from ...core.graph import LayerGraph, Node
from ...core.policies import PLAIN, policy_named
from ...operators.reference.penalties import adds_penalties, penalizes_outputs, penalty_terms, summed
from ...operators.spec import Evaluation, ShapeError
from .forms import outputs_of


def has_penalties(case: Case) -> bool:
    """Whether a layer of the case adds something to the loss, as far as a graph tells."""
    return isinstance(case.subject, LayerGraph) and any(adds_penalties(node) for node in case.subject.nodes)


def penalties_of(case: Case, nodes: Mapping[str, Array]) -> Evaluation | None:
    """The sum of all penalties, from what a target's nodes gave; None where no layer adds one.

    Raises:
        DataError: if the graph is not known, the nodes do not tell, or there is no formula of it.
    """
    if not isinstance(case.subject, LayerGraph):
        raise DataError("what the layers of a file add to the loss is not known")
    if not has_penalties(case):
        return None
    if policy_named(case.procedure.dtype).name != PLAIN.name:
        raise DataError("a penalty is computed in the dtype of what it is of, and in half precision may overflow")
    given = {node.key: outputs_from(node, nodes) for node in case.subject.nodes if penalizes_outputs(node)}
    try:
        return summed(penalty_terms(case.subject, case.weights, given))
    except ShapeError as error:
        raise DataError(str(error)) from error


def outputs_from(node: Node, nodes: Arrays) -> list[Array]:
    """All outputs of a node in a trace."""
    return [nodes[key] for key in outputs_of(node, nodes)]
