"""A graph cut behind one of its nodes: that node, and all that leads to it."""

from __future__ import annotations

from dataclasses import replace

from ..core.case import Case
from ..core.graph import LayerGraph, Node, Ref
from ..core.procedure import Procedure


def up_to(case: Case, node: Node, procedure: Procedure) -> Case:
    """The forward pass of a node and of what it depends on: what comes before may hand it a mask or a state."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    needed = graph.leading_to(node.name)
    nodes = tuple(other for other in graph.nodes if other.name in needed)
    specs = tuple(spec for spec in graph.inputs if spec.name in needed)
    layers = {other.layer for other in nodes}
    return replace(
        case,
        subject=LayerGraph(specs, nodes, (Ref(node.name),), name=f"{graph.name}-cut"),
        procedure=procedure,
        inputs={spec.name: case.inputs[spec.name] for spec in specs},
        labels={},
        weights={name: array for name, array in case.weights.items() if name.partition("/")[0] in layers},
    )
