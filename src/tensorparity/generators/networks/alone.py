"""One layer of a network as a model of its own, on what flows into it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...core.case import Case
from ...core.graph import InputSpec, LayerGraph, Node, Ref
from ...operators.masks_and_states import MasksAndStates
from ...operators.reference.evaluate import evaluate_node, infer_shapes


def alone(case: Case, op: str) -> Case | None:
    """The first layer of a kind, in a network of the float32 policy; None where no such layer is there."""
    graph = case.subject
    if not isinstance(graph, LayerGraph):
        return None
    node = next((node for node in graph.nodes if node.op == op), None)
    if node is None:
        return None
    given = _flowing_into(case, graph, node)
    names = [f"x{place}" for place in range(len(given))]
    specs = [InputSpec(name, array.shape[1:], array.dtype.name) for name, array in zip(names, given, strict=True)]
    own = Node(node.op.lower(), op, tuple(Ref(name) for name in names), node.params, call_params=node.call_params)
    batch = min((len(array) for array in case.inputs.values()), default=1)
    count = len(infer_shapes(graph, batch)[node.name])
    made = LayerGraph(tuple(specs), (own,), tuple(Ref(own.name, place) for place in range(count)), name=own.name)
    weights = {own.layer + name[len(node.layer) :]: w for name, w in case.weights.items() if _is_of(name, node)}
    return replace(
        case, subject=made, inputs=dict(zip(names, given, strict=True)), weights=weights, labels={}, cotangents={}
    )


def _is_of(weight: str, node: Node) -> bool:
    return weight.startswith(f"{node.layer}/")


def _flowing_into(case: Case, graph: LayerGraph, wanted: Node) -> list[Array]:
    """Inputs of the network as they are; what comes out of other layers, rounded."""
    alive: dict[str, Sequence[Array]] = {item.name: (case.inputs[item.name],) for item in graph.inputs}
    beside = MasksAndStates()
    for node in graph.nodes:
        given = [alive[ref.node][ref.index] for ref in node.inputs]
        if node is wanted:
            return given
        found = evaluate_node(node, [_wide(array) for array in given], case.weights, training=False, beside=beside)
        alive[node.name] = [_like(item.value, given) for item in found]
    raise AssertionError(f"{wanted.name} is no node of the graph")


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _like(value: Array, given: Sequence[Array]) -> Array:
    """Reshaping leaves whole numbers what they are; all else flows in float32."""
    if given and all(array.dtype.kind in "biu" for array in given) and bool((value == np.rint(value)).all()):
        return value.astype(given[0].dtype)
    return value.astype(np.float32)
