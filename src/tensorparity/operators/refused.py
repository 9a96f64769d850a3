"""Which value of a network its declaration refuses: as one of those that documentation rules out, or by its rules."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..core.errors import TensorParityError
from ..core.graph import LayerGraph, Node
from ..core.jsontext import Json
from .catalogue import has_layer, layer
from .reference.evaluate import infer_shapes
from .spec import ShapeError

#: How the shape rules name the node that they refuse.
_OF_NODE = re.compile(r"node '([^']*)'")
_ARGUMENT = re.compile(r"Arguments? `(\w+)`")


@dataclass(frozen=True)
class Refused:
    """The first layer of a network that its declaration refuses.

    Args:
        parameter: whose value it is; empty where the declaration names none.
        declared: documentation rules the value out by name, not only by what it says of all values.
        reason: what would be right.
    """

    node: Node
    parameter: str
    value: Json
    reason: str
    declared: bool = False


def refused_value(graph: LayerGraph) -> Refused | None:
    """What a network's declaration refuses; None of a valid network."""
    for node in graph.nodes:
        invalid = layer(node.op).invalid(node.params) if has_layer(node.op) else {}
        if invalid:
            name = next(iter(invalid))
            return Refused(node, name, invalid[name], "the documentation rules it out", declared=True)
    return _by_shape(graph)


def _by_shape(graph: LayerGraph) -> Refused | None:
    """The first node that the shape rules refuse: those before it are right."""
    reason = shape_problem(graph)
    of_node = _OF_NODE.match(reason)
    node = next((node for node in graph.nodes if of_node and node.name == of_node[1]), None)
    if node is None:
        return None
    named = _ARGUMENT.search(reason)
    name = named[1] if named else ""
    return Refused(node, name, {**node.params, **node.call_params}.get(name), reason)


def shape_problem(graph: LayerGraph) -> str:
    """Why a network has no shapes; nothing of a valid one."""
    try:
        infer_shapes(graph, None)
    except (ShapeError, TensorParityError) as error:
        return str(error)
    return ""
