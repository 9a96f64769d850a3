"""Nodes that keep the shape of their input give way to Identity, which the next pass can drop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...core.case import Case
from ...core.graph import LayerGraph, Node, Ref
from ...operators.reference.evaluate import infer_shapes
from ...operators.spec import Shape, ShapeError
from ...oracles.measure.editing import graph_inputs, graph_of, refit
from .order import IDENTITY
from .reducer import Attempts
from .splitting import apply_most


def replace_by_identity(attempts: Attempts) -> None:
    """Every node that can be, at once; those that matter stay."""
    graph = graph_of(attempts.case)
    if graph is None or len(graph.nodes) < 2:
        return
    apply_most(attempts, _replaceable(graph), _without)
    _shortcut(attempts)


def _replaceable(graph: LayerGraph) -> list[str]:
    shapes = _shapes(graph)
    return [
        node.name
        for node in graph.nodes
        if node.op != IDENTITY
        and node.name in shapes
        and len(node.inputs) == 1
        and node.inputs[0].index == 0
        and shapes[node.name] == shapes[node.inputs[0].node][:1]
    ]


def _shapes(graph: LayerGraph) -> dict[str, tuple[Shape, ...]]:
    """By node; what documentation rules out has no shape and ends its graph, what leads to it has some."""
    try:
        return dict(infer_shapes(graph, 1))
    except ShapeError:
        nodes = graph.nodes[:-1]
        return dict(infer_shapes(replace(graph, nodes=nodes, outputs=(Ref(nodes[-1].name),)), 1))


def _without(case: Case, names: Sequence[str]) -> Case | None:
    graph = graph_of(case)
    assert graph is not None
    nodes = tuple(Node(node.name, IDENTITY, node.inputs) if node.name in names else node for node in graph.nodes)
    return refit(case, replace(graph, nodes=nodes), graph_inputs(case))


def _shortcut(attempts: Attempts) -> None:
    """What consumed an Identity consumes what the Identity did."""
    graph = graph_of(attempts.case)
    assert graph is not None
    sources = {node.name: node.inputs[0] for node in graph.nodes if node.op == IDENTITY}
    if not sources or len(sources) == len(graph.nodes):
        return

    def resolved(ref: Ref) -> Ref:
        while ref.node in sources:
            ref = sources[ref.node]
        return ref

    nodes = tuple(
        replace(node, inputs=tuple(resolved(ref) for ref in node.inputs))
        for node in graph.nodes
        if node.name not in sources
    )
    outputs = tuple(dict.fromkeys(resolved(ref) for ref in graph.outputs))
    names = {node.name for node in nodes}
    if any(ref.node not in names for ref in outputs):
        return
    attempts.first([refit(attempts.case, replace(graph, nodes=nodes, outputs=outputs), graph_inputs(attempts.case))])
