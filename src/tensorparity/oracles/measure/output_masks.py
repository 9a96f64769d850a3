"""The masks that flow through a graph on one target: to its outputs, and so to the loss, and into its nodes."""

from __future__ import annotations

from ...core.arrays import Arrays
from ...core.case import Case
from ...core.errors import DataError
from ...core.graph import LayerGraph, Node
from ...core.model import node_inputs
from ...operators.masks_and_states import MasksAndStates
from ...operators.reference.evaluate import evaluate_node
from ...operators.spec import Mask, ShapeError


def output_masks(case: Case, nodes: Arrays) -> dict[str, Mask]:
    """By the name of the output, from what a target's nodes gave; nothing where no layer makes a mask.

    Raises:
        DataError: if the nodes do not tell, or the reference does not say.
    """
    graph = case.subject
    if not isinstance(graph, LayerGraph) or not makes_masks(graph):
        return {}
    beside = _masks_and_states_until(case, graph, nodes)
    found = {ref.node if ref.index == 0 else f"{ref.node}.{ref.index}": beside.mask_of(ref) for ref in graph.outputs}
    return {name: mask for name, mask in found.items() if mask is not None}


def mask_into(case: Case, node: Node, nodes: Arrays) -> Mask:
    """The mask of what a node with one input reads, from what a target's nodes gave.

    Raises:
        DataError: if the nodes do not tell, or the reference does not say.
    """
    graph = case.subject
    if not isinstance(graph, LayerGraph) or not makes_masks(graph):
        return None
    (mask,) = _masks_and_states_until(case, graph, nodes, until=node).masks_into(node)
    return mask


def _masks_and_states_until(case: Case, graph: LayerGraph, nodes: Arrays, until: Node | None = None) -> MasksAndStates:
    beside = MasksAndStates()
    for node in graph.nodes:
        if node is until:
            break
        try:
            given = node_inputs(graph, node, case.inputs, nodes)
            if beside.concerns(node):
                evaluate_node(node, given, case.weights, training=case.procedure.training, beside=beside)
        except (KeyError, ShapeError) as error:
            raise DataError(f"the mask of {node.name!r} is not known: {error}") from error
    return beside


def makes_masks(graph: LayerGraph) -> bool:
    return any(node.op == "Masking" or node.params.get("mask_zero") for node in graph.nodes)
