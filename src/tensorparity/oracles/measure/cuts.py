"""A graph cut at one of its nodes: that node, and all that leads to it."""

from __future__ import annotations

from dataclasses import replace

from ...core.case import Case
from ...core.graph import LayerGraph, Node, Ref, leading_to
from ...core.procedure import Procedure


def up_to(case: Case, node: Node, procedure: Procedure) -> Case:
    """The forward pass of a node and of what it depends on: what comes before may hand it a mask or a state."""
    return _case_of_outputs(case, (Ref(node.name),), procedure)


def before(case: Case, node: Node, procedure: Procedure) -> Case | None:
    """The forward pass of what a node reads; None where that is nothing but inputs of the graph."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    names = {other.name for other in graph.nodes}
    read = tuple(dict.fromkeys(ref for ref in node.inputs if ref.node in names))
    return _case_of_outputs(case, read, procedure) if read else None


def _case_of_outputs(case: Case, outputs: tuple[Ref, ...], procedure: Procedure) -> Case:
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    needed = leading_to(graph.nodes, (ref.node for ref in outputs))
    nodes = tuple(other for other in graph.nodes if other.name in needed)
    specs = tuple(spec for spec in graph.inputs if spec.name in needed)
    layers = {other.layer for other in nodes}
    return replace(
        case,
        subject=LayerGraph(specs, nodes, outputs, name=f"{graph.name}-cut"),
        procedure=procedure,
        inputs={spec.name: case.inputs[spec.name] for spec in specs},
        labels={},
        weights={name: array for name, array in case.weights.items() if name.partition("/")[0] in layers},
    )
